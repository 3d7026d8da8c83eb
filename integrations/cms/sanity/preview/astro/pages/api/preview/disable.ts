import type {APIRoute} from 'astro'
import {end} from '../../../lib/siteapi'

export const prerender = false

/** Ends the preview. */
export const GET: APIRoute = ({cookies, redirect}) => {
  end(cookies)
  return redirect('/')
}
