import {cookies, draftMode} from 'next/headers'
import {cache} from 'react'

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

/** Previews releases, or the published content, as chosen in the Studio; otherwise the drafts. */
export async function choosePerspective(perspective?: string | null) {
  const jar = await cookies()
  jar.set(perspectiveCookie, perspective || 'drafts', attributes)
}

/** Returns the path of the page of this site that linked to a route, or '/'. */
export function pageBefore(headers: Headers): string {
  const from = headers.get('Referer') ?? ''
  const host = headers.get('X-Forwarded-Host') ?? headers.get('Host')
  if (!URL.canParse(from) || new URL(from).host !== host) return '/'
  const {pathname, search} = new URL(from)
  return pathname.replace(/^\/+/, '/') + search // a path that begins with two slashes would name a host
}

/** Returns the headers that select unpublished content. Only this server may send them. */
async function previewHeaders(): Promise<Record<string, string>> {
  const chosen = (await cookies()).get(perspectiveCookie)?.value ?? ''
  if (chosen === 'published') return {}
  const layers = [...chosen.split(',').filter((layer) => /^r[\w-]{1,63}$/.test(layer)), 'drafts'].join(',')
  return {Authorization: `Bearer ${token}`, 'X-Preview': layers}
}

/** The revisions of the content that the queries of a request read. */
const revisions = cache(() => new Set<Promise<string>>())

/**
 * Returns the revision of the content that a page is rendered with, or '' outside of draft mode. Next.js renders a layout
 * and its page at once: an edit between their queries gives 'mixed', which no event has.
 */
export async function revision(): Promise<string> {
  if (!revisions().size) await query('{ SiteSettings(id: "siteSettings") { title } }', {locale: 'en'})
  const read = new Set((await Promise.all(revisions())).filter(Boolean)) // a query may read no content
  return read.size > 1 ? 'mixed' : [...read].join()
}

/** A document with the types of its result and variables, as GraphQL Code Generator writes it with `documentMode: 'string'`. */
type TypedDocument<T, V> = String & {__apiType?: (variables: V) => T}

/**
 * Queries published content, cached until its tag is revalidated, or uncached drafts in draft mode. The age is for
 * publications between a build and the start of what was built.
 */
export async function query<T, V extends {locale: string} = {locale: string}>(document: TypedDocument<T, V>, variables: V): Promise<T> {
  const {isEnabled} = await draftMode()
  const sent = fetch(`${service}/graphql`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', ...(isEnabled ? await previewHeaders() : {})},
    body: JSON.stringify({query: document, variables}),
    ...(isEnabled ? {cache: 'no-store'} : {cache: 'force-cache', next: {revalidate: 300, tags: [`content:locale:${variables.locale}`]}}),
  })
  revisions().add(sent.then(({headers}) => headers.get('X-Content-Revision') ?? '', () => ''))
  const {data, errors} = await (await sent).json()
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
    body: JSON.stringify({query: 'subscription { contentChanged { revision } }'}),
    cache: 'no-store',
    signal,
  })
