import {createClient} from '@sanity/client'
import {validatePreviewUrl} from '@sanity/preview-url-secret'
import {draftMode} from 'next/headers'
import {redirect} from 'next/navigation'

const client = createClient({
  projectId: process.env.SANITY_PROJECT_ID!,
  dataset: process.env.SANITY_DATASET!,
  apiVersion: '2025-02-19',
  useCdn: false,
  token: process.env.SANITY_VIEWER_TOKEN!, // may read the secret that the Studio has written
})

/** The Studio opens this route with a secret: who has one may see drafts. */
export async function GET(request: Request) {
  const {isValid, redirectTo = '/'} = await validatePreviewUrl(client, request.url)
  if (!isValid) return new Response('The secret is not valid.', {status: 401})
  const mode = await draftMode()
  mode.enable()
  redirect(redirectTo)
}
