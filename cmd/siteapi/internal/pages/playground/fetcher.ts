import { Kind, parse } from "graphql";
import type { Fetcher, FetcherParams } from "@graphiql/toolkit";

/**
 * Returns what sends an operation to the service and gives back its answer as it came,
 * an empty list of errors included.
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
      return { errors: [{ message: `The answer is not JSON: HTTP status ${response.status}.` }] };
    }
  };
}

/**
 * Leaves out an operation name that the document does not have: GraphiQL notices what a
 * tab holds a moment late, so right after changing tabs it sends the last tab's name.
 */
function withoutStaleName(params: FetcherParams): FetcherParams {
  try {
    const known = parse(params.query).definitions.some(
      (definition) => definition.kind === Kind.OPERATION_DEFINITION && definition.name?.value === params.operationName,
    );
    return known ? params : { ...params, operationName: undefined };
  } catch {
    return params; // it does not parse: the service says where
  }
}
