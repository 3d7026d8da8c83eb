// The address of the page: its fragment keeps the view, its filters and the lead that is open, so that Back works and
// a link shows a colleague the same. Fragments are not sent to any server.
import { useEffect, useState } from "preact/hooks";

export const views = ["leads", "deliveries", "funnel", "health", "people", "audit", "sessions"] as const;
export type View = (typeof views)[number];

export interface Route {
  view: View;
  params: Record<string, string>;
}

/** Reads the fragment; what it does not know is the list of leads. */
export function readRoute(hash = location.hash): Route {
  const [name, query] = hash.replace(/^#/, "").split("?");
  const view = views.find((v) => v === name) ?? "leads";
  return { view, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a view, without parameters that are empty. */
export function address(view: View, params: Record<string, string | undefined> = {}): string {
  const set = Object.entries(params).filter((pair): pair is [string, string] => !!pair[1]);
  return set.length ? `#${view}?${new URLSearchParams(set)}` : `#${view}`;
}

/** Changes parameters of the view that is shown; with replace, Back does not return to what it was. */
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
    addEventListener("popstate", update);
    return () => {
      removeEventListener("hashchange", update);
      removeEventListener("popstate", update);
    };
  }, []);
  return route;
}
