import type { Fetcher } from "@graphiql/toolkit";

/**
 * Returns what sends an operation to the service and gives back its answer as it came,
 * an empty list of errors included.
 */
export function newFetcher(path: string): Fetcher {
  return async (params, options) => {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json", ...options?.headers },
      body: JSON.stringify(params),
    });
    try {
      return await response.json();
    } catch {
      return { errors: [{ message: `The answer is not JSON: HTTP status ${response.status}.` }] };
    }
  };
}
