// What changes of leads while the page is open, from the service's stream of events (leadEvents). One tab of the browser
// follows it and tells the others: a browser opens few connections to a server that speaks HTTP/1.1.
import { useEffect, useRef, useState } from "preact/hooks";
import { LeadEventsDocument, type LeadEventsSubscription } from "../generated/inbox";
import { graphqlPath, headersFor } from "./service";

export type LeadEvent = LeadEventsSubscription["leadEvents"];

const firstWait = 1_000; // before the first attempt after a break, in milliseconds
const longestWait = 5_000;
const silence = 4_500; // the service sends something every two seconds

type Message = { event: LeadEvent } | { answers: boolean };

const listeners = new Set<(event: LeadEvent) => void>();
const tabs = new BroadcastChannel("siteapi-inbox-live");
let position: string | null = null; // what was received last, in whichever tab
let abort: AbortController | undefined; // ends following; undefined: no view follows

let answers = true; // whether the service did when it was asked last
const watchers = new Set<(answers: boolean) => void>();

/** Whether the service answers, as far as a view that follows it knows. */
export function useAnswers(): boolean {
  const [state, setState] = useState(answers);
  useEffect(() => {
    watchers.add(setState);
    return () => void watchers.delete(setState);
  }, []);
  return state;
}

/** Notes, in all tabs, whether the service answers. */
function report(next: boolean) {
  if (next === answers) return;
  if (navigator.locks) tabs.postMessage({ answers: next } satisfies Message);
  setAnswers(next);
}

function setAnswers(next: boolean) {
  answers = next;
  for (const watcher of watchers) watcher(next);
}

/** Calls a function with each event while a view is shown: `restarted` asks for everything anew. */
export function useLeadEvents(changed: (event: LeadEvent) => void) {
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    const listener = (event: LeadEvent) => latest.current(event);
    listeners.add(listener);
    if (!abort) start();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) stop();
    };
  }, []);
}

function start() {
  const { signal } = (abort = new AbortController());
  position = null;
  tabs.onmessage = ({ data }: MessageEvent<Message>) => ("event" in data ? receive(data.event) : setAnswers(data.answers));
  // The tab that has the lock follows, and another one when that one is closed. Only a page that was loaded over HTTPS or
  // from this machine has locks.
  if (!navigator.locks) void follow(signal);
  else navigator.locks.request("siteapi-inbox-live", { signal }, () => follow(signal)).catch(() => {});
}

function stop() {
  abort?.abort();
  abort = undefined;
  tabs.onmessage = null;
}

function receive(event: LeadEvent) {
  position = event.position;
  for (const listener of listeners) listener(event);
}

/** Follows until the signal, and connects again after a break, at different times in different browsers. */
async function follow(signal: AbortSignal) {
  for (let wait = firstWait; !signal.aborted; wait = Math.min(wait * 2, longestWait)) {
    const before = position;
    const status = await read(signal).catch(() => 0);
    if (signal.aborted) return;
    if (status === 0 || status >= 500) report(false);
    if (status === 401 || status === 403) return untilNextSession(signal);
    if (position !== before) wait = firstWait;
    await pause(wait * (0.5 + Math.random()), signal);
  }
}

/** Without a session there are no events. What the user does next starts another one, and a page that shows it. */
const untilNextSession = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

/** Waits, or less if the connection is back. */
const pause = (time: number, signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    const end = AbortSignal.any([signal, AbortSignal.timeout(time)]);
    end.addEventListener("abort", resolve, { once: true });
    addEventListener("online", resolve, { once: true, signal: end });
  });

/** Reads one stream to its end, and returns its status. */
async function read(signal: AbortSignal): Promise<number> {
  const quiet = new AbortController();
  let timer = setTimeout(() => quiet.abort(), silence);
  const response = await fetch(graphqlPath, {
    method: "POST",
    headers: headersFor("text/event-stream"),
    body: JSON.stringify({ query: LeadEventsDocument.toString(), variables: { after: position } }),
    signal: AbortSignal.any([signal, quiet.signal]),
  });
  if (!response.ok || !response.body) return response.status;

  let text = "";
  report(true);
  try {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), silence);
      const events = (text + part.value).split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) take(event);
    }
  } finally {
    clearTimeout(timer);
  }
  return response.status;
}

/** Hands an event over, here and to the other tabs. Comments have no data. */
function take(text: string) {
  const data = text.split("\n").find((line) => line.startsWith("data: "));
  if (!data) return;
  const event = (JSON.parse(data.slice(6)) as { data?: LeadEventsSubscription }).data?.leadEvents;
  if (!event) return;
  if (navigator.locks) tabs.postMessage({ event } satisfies Message);
  receive(event);
}
