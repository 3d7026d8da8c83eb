// The service's settings of the page, on its root element.
import { operations } from "./operations.js";

/** What the page was served with. */
export interface Page {
  root: HTMLElement;
  graphqlPath: string;
  /** Whether introspection is on. */
  introspection: boolean;
  licencesPath: string;
  operations: ReturnType<typeof operations>;
}

/** Reads what the page was served with. */
export function readPage(): Page {
  const root = document.getElementById("playground");
  if (!root) throw new Error("the page has no #playground");
  return {
    root,
    graphqlPath: root.dataset.graphqlPath ?? "/graphql",
    introspection: root.dataset.introspection === "on",
    licencesPath: root.dataset.licencesPath ?? "",
    operations: operations(root.dataset),
  };
}
