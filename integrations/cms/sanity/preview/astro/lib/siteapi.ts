import type {AstroCookies} from 'astro'
import {getSecret} from 'astro:env/server'

/** Returns a setting of the server. It is read when the server runs, so the built files do not contain it. */
export function setting(name: string): string {
  const value = getSecret(name)
  if (!value) throw new Error(`${name} is not set`)
  return value
}

/** The cookies of a preview. Their attributes allow the Studio to show the site in a frame. */
const draftCookie = 'preview'
const perspectiveCookie = 'sanity-preview-perspective'
const attributes = {path: '/', httpOnly: true, secure: true, sameSite: 'none', partitioned: true} as const

/** Returns a value that only this server can compute. */
async function proof() {
  const text = `preview cookie ${setting('SITEAPI_PREVIEW_TOKEN')}`
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Reports whether the visitor is previewing drafts. */
export const previews = async (cookies: AstroCookies) => cookies.get(draftCookie)?.value === (await proof())

/** Starts a preview. */
export async function begin(cookies: AstroCookies, perspective?: string | null) {
  cookies.set(draftCookie, await proof(), attributes)
  choosePerspective(cookies, perspective)
}

/** Ends the preview. A cookie is deleted only with the attributes that it was set with. */
export function end(cookies: AstroCookies) {
  for (const name of [draftCookie, perspectiveCookie]) cookies.delete(name, attributes)
}

/** Previews releases, or the published content, as chosen in the Studio; otherwise the drafts. Reports a change. */
export function choosePerspective(cookies: AstroCookies, perspective?: string | null): boolean {
  const former = cookies.get(perspectiveCookie)?.value
  const chosen = perspective || 'drafts'
  cookies.set(perspectiveCookie, chosen, attributes)
  return chosen !== former
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
function previewHeaders(cookies: AstroCookies): Record<string, string> {
  const chosen = cookies.get(perspectiveCookie)?.value ?? ''
  if (chosen === 'published') return {}
  const layers = [...chosen.split(',').filter((layer) => /^r[\w-]{1,63}$/.test(layer)), 'drafts'].join(',')
  return {Authorization: `Bearer ${setting('SITEAPI_PREVIEW_TOKEN')}`, 'X-Preview': layers}
}

/** The revision of the content that a page was rendered with so far, by the cookies of its request. */
const revisions = new WeakMap<AstroCookies, string>()

/** Returns the revision of the content that a page is rendered with, or '' without a preview. */
export async function revision(cookies: AstroCookies): Promise<string> {
  if (!revisions.has(cookies)) await query('{ SiteSettings(id: "siteSettings") { title } }', {locale: 'en'}, cookies)
  return revisions.get(cookies) ?? ''
}

/** A document with the types of its result and variables, as GraphQL Code Generator writes it with `documentMode: 'string'`. */
type TypedDocument<T, V> = String & {__apiType?: (variables: V) => T}

/** Queries published content, or drafts in a preview. Pages that call it must be rendered on demand. */
export async function query<T, V extends {locale: string} = {locale: string}>(
  document: TypedDocument<T, V>,
  variables: V,
  cookies: AstroCookies,
): Promise<T> {
  const response = await fetch(`${setting('SITEAPI_URL')}/graphql`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', ...((await previews(cookies)) ? previewHeaders(cookies) : {})},
    body: JSON.stringify({query: document, variables}),
  })
  const former = revisions.get(cookies)
  const read = response.headers.get('X-Content-Revision') ?? former ?? '' // a query may read no content
  revisions.set(cookies, former && former !== read ? 'mixed' : read) // no event has 'mixed'
  const {data, errors} = await response.json()
  if (errors?.length) throw new Error(errors[0].message)
  return data
}

/** Opens the stream of content changes, published or not. */
export const contentChanged = (signal: AbortSignal) =>
  fetch(`${setting('SITEAPI_URL')}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
      Authorization: `Bearer ${setting('SITEAPI_PREVIEW_TOKEN')}`,
      'X-Preview': 'drafts',
    },
    body: JSON.stringify({query: 'subscription { contentChanged { revision } }'}),
    signal,
  })
