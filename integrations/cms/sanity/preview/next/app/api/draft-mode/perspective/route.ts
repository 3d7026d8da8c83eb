import {draftMode} from 'next/headers'
import {choosePerspective} from '../../../../lib/siteapi'

/** Changes the perspective of a preview, as an editor does in the Studio while the page is open. */
export async function POST(request: Request) {
  const {isEnabled} = await draftMode()
  if (!isEnabled) return new Response('No preview is active.', {status: 401})
  await choosePerspective(await request.text())
  return new Response(null, {status: 204})
}
