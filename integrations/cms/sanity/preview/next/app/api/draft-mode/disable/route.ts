import {redirect} from 'next/navigation'
import {end} from '../../../../lib/siteapi'

/** Ends the preview. */
export async function GET() {
  await end()
  redirect('/')
}
