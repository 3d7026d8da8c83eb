// What the service says to the page: settings on its root element, operations beside it.

/** One prepared operation. */
export interface Operation {
  title: string;
  query: string;
  /** JSON, empty where the operation has no variables. */
  variables: string;
  /** Bearer token to put into the headers; empty where none is needed. */
  token: string;
}

/** What the page was served with. */
export interface Page {
  root: HTMLElement;
  graphqlPath: string;
  /** Whether the service tells its schema. */
  introspection: boolean;
  licencesPath: string;
  operations: Operation[];
}

/** Reads what the page was served with. */
export function readPage(): Page {
  const root = document.getElementById("playground");
  const operations = document.getElementById("operations");
  if (!root || !operations) throw new Error("the page has no #playground or no #operations");
  return {
    root,
    graphqlPath: root.dataset.graphqlPath ?? "/graphql",
    introspection: root.dataset.introspection === "on",
    licencesPath: root.dataset.licencesPath ?? "",
    operations: JSON.parse(operations.textContent ?? "[]") as Operation[],
  };
}
