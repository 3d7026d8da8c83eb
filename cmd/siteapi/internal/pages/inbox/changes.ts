// What changes while a view is shown, and how many leads are new while nobody looks at the page.
import { useEffect, useRef, useState } from "preact/hooks";
import { type LeadEvent, useLeadEvents } from "./live";

/** The references of leads that changed; undefined: any may have. */
export type Changed = ReadonlySet<string> | undefined;

const again = 5000; // time between two updates of a view that waits for something, in milliseconds
const breath = 300; // least time between two updates of a view, in milliseconds

/**
 * Updates a view after each change. What changes during an update leads to one more, and what an update failed for is
 * part of the next one: after a break there is always an event. A view that waits is updated from time to time as well:
 * the pause of a target changes no lead, and a busy service may note the end of a delivery only after the event.
 */
export function useChanges(update: (changed: Changed) => Promise<void>, waits = false) {
  const latest = useRef(update);
  latest.current = update;
  const waiting = useRef<{ references: Set<string>; all: boolean }>(undefined);
  const missed = useRef<{ references: Set<string>; all: boolean }>(undefined);
  const busy = useRef(false);
  const run = async () => {
    busy.current = true;
    while (waiting.current) {
      const references = new Set([...waiting.current.references, ...(missed.current?.references ?? [])]);
      const all = waiting.current.all || !!missed.current?.all;
      waiting.current = missed.current = undefined;
      await latest.current(all ? undefined : references).catch(() => (missed.current = { references, all }));
      await new Promise((resolve) => setTimeout(resolve, breath));
    }
    busy.current = false;
  };
  useLeadEvents(({ restarted, changes }) => {
    const { references, all } = waiting.current ?? { references: new Set(), all: false };
    waiting.current = { references: new Set([...references, ...changes.map((c) => c.reference)]), all: all || restarted };
    if (!busy.current) void run();
  });
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(() => !document.hidden && void latest.current(undefined).catch(() => {}), again);
    return () => clearInterval(timer);
  }, [waits]);
}

/** How many leads came while the page was not looked at. */
export function useUnseen(): number {
  const [unseen, setUnseen] = useState(0);
  useLeadEvents(({ changes }: LeadEvent) => {
    const created = changes.filter(({ kind }) => kind === "CREATED").length;
    if (created && !isLookedAt()) setUnseen((n) => n + created);
  });
  useEffect(() => {
    const look = () => isLookedAt() && setUnseen(0);
    addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return unseen;
}

const isLookedAt = () => !document.hidden && document.hasFocus();
