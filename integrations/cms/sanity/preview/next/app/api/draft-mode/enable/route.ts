import {createClient} from '@sanity/client'
import {validatePreviewUrl} from '@sanity/preview-url-secret'
import {redirect} from 'next/navigation'
import {begin} from '../../../../lib/siteapi'

/** Starts a preview. The Studio opens this route with a secret that authorizes access to drafts. */
export async function GET(request: Request) {
  const client = createClient({
    projectId: process.env.SANITY_PROJECT_ID!,
    dataset: process.env.SANITY_DATASET!,
    apiVersion: '2025-02-19',
    useCdn: false,
    token: process.env.SANITY_VIEWER_TOKEN!, // may read the secret stored by the Studio
  })
  const {isValid, redirectTo = '/', studioPreviewPerspective} = await validatePreviewUrl(client, request.url)
  if (!isValid) return new Response('The preview secret is invalid.', {status: 401})
  await begin(studioPreviewPerspective)
  redirect(redirectTo)
}
