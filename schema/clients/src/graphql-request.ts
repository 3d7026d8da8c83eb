// A client of the service with graphql-request.
import { ClientError, GraphQLClient } from "graphql-request";
import { ClearCacheDocument, PhonesDocument, SubmitQuoteDocument, TrackQuoteDocument } from "../generated/operations.js";
import { SiteError } from "./site.js";
import type { ClientOptions, SiteClient } from "./site.js";

/** Returns a client of the service that uses graphql-request, which has no persisted queries. */
export function graphqlRequestSite(options: ClientOptions): SiteClient {
  const settings = {
    ...(options.fetch && { fetch: options.fetch }),
    ...(options.token && { headers: { Authorization: `Bearer ${options.token}` } }),
  };
  const writer = new GraphQLClient(options.url, settings);
  // A client sends all requests by the method it was created with, so reads need a separate one.
  const reader = options.get ? new GraphQLClient(options.url, { ...settings, method: "GET" }) : writer;

  return {
    settings: async (id) => (await response(reader.request(PhonesDocument, { ...(id && { id }) }))).SiteSettings,
    track: async (input) => (await response(writer.request(TrackQuoteDocument, { input }))).trackQuote,
    submit: async (input) => (await response(writer.request(SubmitQuoteDocument, { input }))).submitQuote,
    clearCache: async (pattern) => (await response(writer.request(ClearCacheDocument, { pattern }))).clearCache.cleared,
    ask: (document) => response(reader.request<unknown>(document)),
  };
}

/** Waits for a response. graphql-request rejects if there are errors. */
async function response<Data>(sent: Promise<Data>): Promise<Data> {
  try {
    return await sent;
  } catch (error) {
    throw error instanceof ClientError ? SiteError.of(error.response.errors ?? [], error) : SiteError.unreachable(error);
  }
}
