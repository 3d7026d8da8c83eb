import {redirect} from 'next/navigation'
import {end, pageBefore} from '../../../../lib/siteapi'

/** Ends the preview, and returns to the page with the link, if any. */
export async function GET(request: Request) {
  await end()
  redirect(pageBefore(request.headers))
}
