import {cookies, draftMode} from 'next/headers'

const service = process.env.SITEAPI_URL!
const token = process.env.SITEAPI_PREVIEW_TOKEN! // one of the service's PREVIEW_TOKENS; never NEXT_PUBLIC_

/** The cookies of a preview. Their attributes allow the Studio to show the site in a frame. */
const draftCookie = '__prerender_bypass' // set by Next.js
const perspectiveCookie = 'sanity-preview-perspective'
const attributes = {path: '/', httpOnly: true, secure: true, sameSite: 'none', partitioned: true} as const

/** Starts a preview. */
export async function begin(perspective?: string | null) {
  const [mode, jar] = await Promise.all([draftMode(), cookies()])
  mode.enable()
  jar.set(draftCookie, jar.get(draftCookie)!.value, attributes)
  await choosePerspective(perspective)
}

/** Ends the preview. A cookie is deleted only with the attributes that it was set with. */
export async function end() {
  const [mode, jar] = await Promise.all([draftMode(), cookies()])
  mode.disable()
  for (const name of [draftCookie, perspectiveCookie]) jar.set(name, '', {...attributes, maxAge: 0})
}

/** Previews a release, or the published content, as chosen in the Studio; otherwise the drafts. */
export async function choosePerspective(perspective?: string | null) {
  const jar = await cookies()
  jar.set(perspectiveCookie, perspective || 'drafts', attributes)
}

/** Returns the headers that select unpublished content. Only this server may send them. */
async function previewHeaders(): Promise<Record<string, string>> {
  const chosen = (await cookies()).get(perspectiveCookie)?.value.split(',')[0] ?? ''
  if (chosen === 'published') return {}
  const layers = /^r[\w-]{1,63}$/.test(chosen) ? `${chosen},drafts` : 'drafts'
  return {Authorization: `Bearer ${token}`, 'X-Preview': layers}
}

/** Queries published content, cached until its tag is revalidated, or uncached drafts in draft mode. */
export async function query<T>(document: string, variables: {locale: string}): Promise<T> {
  const {isEnabled} = await draftMode()
  const response = await fetch(`${service}/graphql`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', ...(isEnabled ? await previewHeaders() : {})},
    body: JSON.stringify({query: document, variables}),
    ...(isEnabled ? {cache: 'no-store'} : {cache: 'force-cache', next: {tags: [`content:locale:${variables.locale}`]}}),
  })
  const {data, errors} = await response.json()
  if (errors?.length) throw new Error(errors[0].message)
  return data
}

/** Opens the stream of content changes, published or not. */
export const contentChanged = (signal: AbortSignal) =>
  fetch(`${service}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
      Authorization: `Bearer ${token}`,
      'X-Preview': 'drafts',
    },
    body: JSON.stringify({query: 'subscription { contentChanged { keys } }'}),
    cache: 'no-store',
    signal,
  })
