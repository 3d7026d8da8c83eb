import type {APIRoute} from 'astro'
import {choosePerspective, previews} from '../../../lib/siteapi'

export const prerender = false

/** Changes the perspective of a preview, as an editor does in the Studio while the page is open. */
export const POST: APIRoute = async ({request, cookies}) => {
  if (!(await previews(cookies))) return new Response('No preview is active.', {status: 401})
  return new Response(choosePerspective(cookies, await request.text()) ? 'changed' : 'equal')
}
