import {createHash, timingSafeEqual} from 'node:crypto'
import {redirect} from 'next/navigation'
import {begin, pageBefore} from '../../../../lib/siteapi'

const digest = (text: string) => createHash('sha256').update(text).digest()

/**
 * Starts a preview without a Studio, for the file driver: /api/draft-mode/enable-file?secret=…&perspective=rSpring. The
 * secret is the value of SITE_PREVIEW_SECRET. It returns to the page with the link, if any.
 */
export async function GET(request: Request) {
  const {searchParams} = new URL(request.url)
  const secret = process.env.SITE_PREVIEW_SECRET
  if (!secret || !timingSafeEqual(digest(searchParams.get('secret') ?? ''), digest(secret))) {
    return new Response('The preview secret is invalid.', {status: 401})
  }
  await begin(searchParams.get('perspective'))
  redirect(pageBefore(request.headers))
}
