// The settings of the page, which the service puts on its root element.
import { operations } from "./operations.js";

/** The settings of the page. */
export interface Page {
  root: HTMLElement;
  graphqlPath: string;
  /** Whether introspection is enabled. */
  introspection: boolean;
  licensesPath: string;
  operations: ReturnType<typeof operations>;
}

/** Reads the settings of the page. */
export function readPage(): Page {
  const root = document.getElementById("playground");
  if (!root) throw new Error("the page has no #playground");
  return {
    root,
    graphqlPath: root.dataset.graphqlPath ?? "/graphql",
    introspection: root.dataset.introspection === "on",
    licensesPath: root.dataset.licensesPath ?? "",
    operations: operations(root.dataset),
  };
}
