import {createHash, timingSafeEqual} from 'node:crypto'
import type {APIRoute} from 'astro'
import {begin, pageBefore, setting} from '../../../lib/siteapi'

export const prerender = false

const digest = (text: string) => createHash('sha256').update(text).digest()

/**
 * Starts a preview without a Studio, for the file driver: /api/preview/enable-file?secret=…&perspective=rSpring. The
 * secret is the value of SITE_PREVIEW_SECRET. It returns to the page with the link, if any.
 */
export const GET: APIRoute = async ({url, request, cookies, redirect}) => {
  if (!timingSafeEqual(digest(url.searchParams.get('secret') ?? ''), digest(setting('SITE_PREVIEW_SECRET')))) {
    return new Response('The preview secret is invalid.', {status: 401})
  }
  await begin(cookies, url.searchParams.get('perspective'))
  return redirect(pageBefore(request.headers))
}
