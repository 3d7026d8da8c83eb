import {draftMode} from 'next/headers'
import {contentChanged} from '../../../../lib/siteapi'

/** Forwards the events to an editor's browser, which has no token. */
export async function GET(request: Request) {
  const {isEnabled} = await draftMode()
  if (!isEnabled) return new Response('No preview is active.', {status: 401})
  const events = await contentChanged(request.signal)
  return new Response(events.body, {
    status: events.status,
    headers: {'Content-Type': 'text/event-stream', 'Cache-Control': 'private, no-store'},
  })
}
