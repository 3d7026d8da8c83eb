import {createClient} from '@sanity/client'
import {validatePreviewUrl} from '@sanity/preview-url-secret'
import type {APIRoute} from 'astro'
import {begin, setting} from '../../../lib/siteapi'

export const prerender = false

/** Starts a preview. The Studio opens this route with a secret that authorizes access to drafts. */
export const GET: APIRoute = async ({request, cookies, redirect}) => {
  const client = createClient({
    projectId: setting('SANITY_PROJECT_ID'),
    dataset: setting('SANITY_DATASET'),
    apiVersion: '2025-02-19',
    useCdn: false,
    token: setting('SANITY_VIEWER_TOKEN'), // may read the secret stored by the Studio
  })
  const {isValid, redirectTo = '/', studioPreviewPerspective} = await validatePreviewUrl(client, request.url)
  if (!isValid) return new Response('The preview secret is invalid.', {status: 401})
  await begin(cookies, studioPreviewPerspective)
  return redirect(redirectTo)
}
