import {draftMode} from 'next/headers'

const service = process.env.SITEAPI_URL!
const token = process.env.SITEAPI_PREVIEW_TOKEN! // one of the service's PREVIEW_TOKENS; never NEXT_PUBLIC_

/** The headers that show drafts, for this server only. */
export const previewHeaders = {Authorization: `Bearer ${token}`, 'X-Preview': 'drafts'}

/** Asks the service: for what is published, kept until the tags are revalidated; in draft mode for drafts, kept nowhere. */
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

/** Opens the stream of what editors change. */
export const contentChanged = (signal: AbortSignal) =>
  fetch(`${service}/graphql`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', Accept: 'text/event-stream', ...previewHeaders},
    body: JSON.stringify({query: 'subscription { contentChanged { keys } }'}),
    cache: 'no-store',
    signal,
  })
