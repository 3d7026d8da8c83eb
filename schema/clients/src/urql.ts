// A client of the service with urql.
import { Client, fetchExchange } from "@urql/core";
import type { AnyVariables, OperationResult, TypedDocumentNode } from "@urql/core";
import { persistedExchange } from "@urql/exchange-persisted";
import { ClearCacheDocument, PhonesDocument, SubmitQuoteDocument, TrackQuoteDocument } from "../generated/operations.js";
import { SiteError } from "./site.js";
import type { ClientOptions, SiteClient } from "./site.js";

/** Returns a client of the service that uses urql. */
export function urqlSite(options: ClientOptions): SiteClient {
  const client = new Client({
    url: options.url,
    preferGetMethod: options.get ? "force" : false,
    // A site's server must render current data; in a browser, put a cacheExchange first.
    exchanges: [...(options.persisted ? [persistedExchange({ preferGetForPersistedQueries: "force" })] : []), fetchExchange],
    ...(options.fetch && { fetch: options.fetch }),
    ...(options.token && { fetchOptions: { headers: { Authorization: `Bearer ${options.token}` } } }),
  });

  async function query<Data, Variables extends AnyVariables>(document: TypedDocumentNode<Data, Variables> | string, variables: Variables) {
    return response(await client.query(document, variables).toPromise());
  }
  async function mutate<Data, Variables extends AnyVariables>(document: TypedDocumentNode<Data, Variables>, variables: Variables) {
    return response(await client.mutation(document, variables).toPromise());
  }
  return {
    settings: async (id) => (await query(PhonesDocument, { ...(id && { id }) })).SiteSettings,
    track: async (input) => (await mutate(TrackQuoteDocument, { input })).trackQuote,
    submit: async (input) => (await mutate(SubmitQuoteDocument, { input })).submitQuote,
    clearCache: async (pattern) => (await mutate(ClearCacheDocument, { pattern })).clearCache.cleared,
    ask: (document) => query<unknown, AnyVariables>(document, {}),
  };
}

/** Returns the data of a result. urql never rejects: errors are part of the result. */
function response<Data>({ data, error }: OperationResult<Data>): Data {
  if (error) throw error.graphQLErrors.length ? SiteError.of(error.graphQLErrors, error) : SiteError.unreachable(error);
  if (data === undefined) throw SiteError.unreachable(new Error("the response has no data"));
  return data;
}
