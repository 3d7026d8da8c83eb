// A client of the service with Apollo Client.
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache } from "@apollo/client";
import type { OperationVariables, TypedDocumentNode } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { parse } from "graphql";
import { ClearCacheDocument, PhonesDocument, SubmitQuoteDocument, TrackQuoteDocument } from "../generated/operations.js";
import { SiteError } from "./site.js";
import type { ClientOptions, SiteClient } from "./site.js";

/** Returns the hash of a query. Browsers provide `crypto.subtle` only on pages served over HTTPS or from localhost. */
async function sha256(text: string) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns a client of the service that uses Apollo Client. */
export function apolloSite(options: ClientOptions): SiteClient {
  const http = new HttpLink({
    uri: options.url,
    useGETForQueries: options.get ?? false,
    ...(options.fetch && { fetch: options.fetch }),
    ...(options.token && { headers: { Authorization: `Bearer ${options.token}` } }),
  });
  const client = new ApolloClient({
    link: options.persisted ? ApolloLink.from([new PersistedQueryLink({ sha256, useGETForHashedQueries: true }), http]) : http,
    cache: new InMemoryCache(),
    // A site's server must render current data; omit this in a browser.
    defaultOptions: { query: { fetchPolicy: "no-cache" }, mutate: { fetchPolicy: "no-cache" } },
  });

  async function query<Data, Variables extends OperationVariables>(query: TypedDocumentNode<Data, Variables>, variables: Variables) {
    return response(client.query<Data>({ query, variables }));
  }
  async function mutate<Data, Variables extends OperationVariables>(mutation: TypedDocumentNode<Data, Variables>, variables: Variables) {
    return response(client.mutate<Data>({ mutation, variables }));
  }
  return {
    settings: async (id) => (await query(PhonesDocument, { ...(id && { id }) })).SiteSettings,
    track: async (input) => (await mutate(TrackQuoteDocument, { input })).trackQuote,
    submit: async (input) => (await mutate(SubmitQuoteDocument, { input })).submitQuote,
    clearCache: async (pattern) => (await mutate(ClearCacheDocument, { pattern })).clearCache.cleared,
    ask: (document) => query(parse(document) as TypedDocumentNode<unknown, OperationVariables>, {}),
  };
}

/** Waits for a response with data. Apollo rejects if there are errors. */
async function response<Data>(sent: Promise<{ data?: Data | undefined }>): Promise<Data> {
  try {
    const { data } = await sent;
    if (data === undefined) throw new Error("the response has no data");
    return data;
  } catch (error) {
    throw CombinedGraphQLErrors.is(error) ? SiteError.of(error.errors, error) : SiteError.unreachable(error);
  }
}
