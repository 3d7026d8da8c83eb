// Updates of a view while it is shown, and the number of new leads while the page is in the background.
import { useEffect, useRef, useState } from "preact/hooks";
import { useLeadEvents } from "./live";

/** The references of leads that changed; undefined: any lead may have changed. */
export type Changed = ReadonlySet<string> | undefined;

const poll = 5000; // time between two updates of a view that waits for something, in milliseconds
const pause = 300; // minimum time between two updates of a view, in milliseconds

/**
 * Updates a view after each change. A change during an update causes another one, and a failed update is repeated with
 * the next one: an event always follows a disconnection. A waiting view is also updated periodically, because the pause
 * of a target changes no lead, and a busy service may store the end of a delivery only after the event.
 */
export function useChanges(update: (changed: Changed) => Promise<void>, waits = false) {
  const latest = useRef(update);
  latest.current = update;
  const waiting = useRef<{ changed: Changed }>(undefined);
  const failed = useRef(false); // the next update then loads everything
  const busy = useRef(false);
  const run = async () => {
    busy.current = true;
    while (waiting.current) {
      const changed = failed.current ? undefined : waiting.current.changed;
      waiting.current = undefined;
      failed.current = false;
      await latest.current(changed).catch(() => (failed.current = true));
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    busy.current = false;
  };
  useLeadEvents(({ restarted, changes }) => {
    const { changed: before } = waiting.current ?? { changed: new Set<string>() };
    const references = changes.map((change) => change.reference);
    waiting.current = { changed: restarted || !before ? undefined : new Set([...before, ...references]) };
    if (!busy.current) void run();
  });
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(() => !document.hidden && void latest.current(undefined).catch(() => {}), poll);
    return () => clearInterval(timer);
  }, [waits]);
}

/** The number of leads that arrived while the page was in the background. */
export function useUnseen(): number {
  const [unseen, setUnseen] = useState(0);
  useLeadEvents(({ changes }) => {
    const created = changes.filter(({ kind }) => kind === "CREATED").length;
    if (created && !isActive()) setUnseen((n) => n + created);
  });
  useEffect(() => {
    const look = () => isActive() && setUnseen(0);
    addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return unseen;
}

const isActive = () => !document.hidden && document.hasFocus();
