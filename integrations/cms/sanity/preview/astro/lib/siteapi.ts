import type {AstroCookies} from 'astro'

const service = process.env.SITEAPI_URL!
const token = process.env.SITEAPI_PREVIEW_TOKEN! // one of the service's PREVIEW_TOKENS; never PUBLIC_
const cookie = 'preview'

const headers = {Authorization: `Bearer ${token}`, 'X-Preview': 'drafts', 'Content-Type': 'application/json'}

/** Returns the cookie value, which only this server can compute. */
async function proof() {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`preview cookie ${token}`))
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Reports whether the visitor is previewing drafts. */
export const previews = async (cookies: AstroCookies) => cookies.get(cookie)?.value === (await proof())

/** Starts a preview. The cookie options allow the Studio to show the site in a frame. */
export async function begin(cookies: AstroCookies) {
  cookies.set(cookie, await proof(), {path: '/', httpOnly: true, secure: true, sameSite: 'none', partitioned: true})
}

export const end = (cookies: AstroCookies) => cookies.delete(cookie, {path: '/'})

/** Queries published content, or drafts in a preview. Pages that call it must be rendered on demand. */
export async function query<T>(document: string, variables: {locale: string}, cookies: AstroCookies): Promise<T> {
  const answer = await fetch(`${service}/graphql`, {
    method: 'POST',
    headers: (await previews(cookies)) ? headers : {'Content-Type': 'application/json'},
    body: JSON.stringify({query: document, variables}),
  })
  const {data, errors} = await answer.json()
  if (errors?.length) throw new Error(errors[0].message)
  return data
}

/** Opens the stream of content changes. */
export const contentChanged = (signal: AbortSignal) =>
  fetch(`${service}/graphql`, {
    method: 'POST',
    headers: {...headers, Accept: 'text/event-stream'},
    body: JSON.stringify({query: 'subscription { contentChanged { keys } }'}),
    signal,
  })
