// The URL of the page. Its fragment stores the view, its filters and the open lead, so that Back works and links can be
// shared with colleagues. Fragments are not sent to any server.
import { useEffect, useState } from "preact/hooks";

export const views = ["leads", "deliveries", "funnel", "health", "report", "unfinished", "people", "audit", "logins"] as const;
export type View = (typeof views)[number];

export interface Route {
  view: View;
  params: Record<string, string>;
}

/** Reads the fragment. An unknown view becomes the list of leads. */
export function readRoute(hash = location.hash): Route {
  const [name, query] = hash.replace(/^#/, "").split("?");
  const view = views.find((v) => v === name) ?? "leads";
  return { view, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** Returns the address of a view, without empty parameters. */
export function address(view: View, params: Record<string, string | undefined> = {}): string {
  const set = Object.entries(params).filter((pair): pair is [string, string] => !!pair[1]);
  return set.length ? `#${view}?${new URLSearchParams(set)}` : `#${view}`;
}

/** Changes parameters of the current view. With replace, Back does not return to the previous ones. */
export function setParams(changes: Record<string, string | undefined>, replace = false) {
  const { view, params } = readRoute();
  const url = address(view, { ...params, ...changes });
  if (url === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  dispatchEvent(new Event("hashchange"));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const update = () => setRoute(readRoute());
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  return route;
}
