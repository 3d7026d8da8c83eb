import {draftMode} from 'next/headers'

const service = process.env.SITEAPI_URL!
const token = process.env.SITEAPI_PREVIEW_TOKEN! // one of the service's PREVIEW_TOKENS; never NEXT_PUBLIC_

/** The headers that select drafts. Only this server may send them. */
export const previewHeaders = {Authorization: `Bearer ${token}`, 'X-Preview': 'drafts'}

/** Queries published content, cached until its tag is revalidated, or uncached drafts in draft mode. */
export async function query<T>(document: string, variables: {locale: string}): Promise<T> {
  const {isEnabled} = await draftMode()
  const answer = await fetch(`${service}/graphql`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', ...(isEnabled ? previewHeaders : {})},
    body: JSON.stringify({query: document, variables}),
    ...(isEnabled ? {cache: 'no-store'} : {cache: 'force-cache', next: {tags: [`content:locale:${variables.locale}`]}}),
  })
  const {data, errors} = await answer.json()
  if (errors?.length) throw new Error(errors[0].message)
  return data
}

/** Opens the stream of content changes. */
export const contentChanged = (signal: AbortSignal) =>
  fetch(`${service}/graphql`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', Accept: 'text/event-stream', ...previewHeaders},
    body: JSON.stringify({query: 'subscription { contentChanged { keys } }'}),
    cache: 'no-store',
    signal,
  })
