import {createClient} from '@sanity/client'
import {validatePreviewUrl} from '@sanity/preview-url-secret'
import type {APIRoute} from 'astro'
import {begin} from '../../../lib/siteapi'

export const prerender = false

const client = createClient({
  projectId: process.env.SANITY_PROJECT_ID!,
  dataset: process.env.SANITY_DATASET!,
  apiVersion: '2025-02-19',
  useCdn: false,
  token: process.env.SANITY_VIEWER_TOKEN!, // may read the secret stored by the Studio
})

/** Starts a preview. The Studio opens this route with a secret that authorizes access to drafts. */
export const GET: APIRoute = async ({request, cookies, redirect}) => {
  const {isValid, redirectTo = '/'} = await validatePreviewUrl(client, request.url)
  if (!isValid) return new Response('The preview secret is invalid.', {status: 401})
  await begin(cookies)
  return redirect(redirectTo)
}
