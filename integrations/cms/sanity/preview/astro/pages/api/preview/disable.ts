import type {APIRoute} from 'astro'
import {end, pageBefore} from '../../../lib/siteapi'

export const prerender = false

/** Ends the preview, and returns to the page with the link, if any. */
export const GET: APIRoute = ({request, cookies, redirect}) => {
  end(cookies)
  return redirect(pageBefore(request.headers))
}
