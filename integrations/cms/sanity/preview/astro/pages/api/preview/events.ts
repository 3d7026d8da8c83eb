import type {APIRoute} from 'astro'
import {contentChanged, previews} from '../../../lib/siteapi'

export const prerender = false

/** Forwards the events to an editor's browser, which has no token. */
export const GET: APIRoute = async ({request, cookies}) => {
  if (!(await previews(cookies))) return new Response('No preview is active.', {status: 401})
  const events = await contentChanged(request.signal)
  return new Response(events.body, {
    status: events.status,
    headers: {'Content-Type': 'text/event-stream', 'Cache-Control': 'private, no-store'},
  })
}
