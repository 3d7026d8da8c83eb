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
  token: process.env.SANITY_VIEWER_TOKEN!, // may read the secret that the Studio has written
})

/** The Studio opens this route with a secret: who has one may see drafts. */
export const GET: APIRoute = async ({request, cookies, redirect}) => {
  const {isValid, redirectTo = '/'} = await validatePreviewUrl(client, request.url)
  if (!isValid) return new Response('The secret is not valid.', {status: 401})
  await begin(cookies)
  return redirect(redirectTo)
}
