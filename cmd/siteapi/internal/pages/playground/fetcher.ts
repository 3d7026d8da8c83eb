import { Kind, parse } from "graphql";
import type { Fetcher, FetcherParams } from "@graphiql/toolkit";

/**
 * Returns a fetcher that sends operations to the service and returns its responses unchanged,
 * including an empty list of errors.
 */
export function newFetcher(path: string): Fetcher {
  return async (params, options) => {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json", ...options?.headers },
      body: JSON.stringify(withoutStaleName(params)),
    });
    try {
      return await response.json();
    } catch {
      return { errors: [{ message: `The response is not JSON: HTTP status ${response.status}.` }] };
    }
  };
}

/**
 * Removes an operation name that the document does not contain: right after a change of tabs,
 * GraphiQL still sends the operation name of the previous tab.
 */
function withoutStaleName(params: FetcherParams): FetcherParams {
  try {
    const known = parse(params.query).definitions.some(
      (definition) => definition.kind === Kind.OPERATION_DEFINITION && definition.name?.value === params.operationName,
    );
    return known ? params : { ...params, operationName: undefined };
  } catch {
    return params; // invalid syntax: the service reports it
  }
}
