// Changes of leads while the page is open, from the service's stream of events (leadEvents). Only one tab of a browser
// follows the stream and forwards the events to the others, because browsers limit HTTP/1.1 connections to a server.
import { useEffect, useRef, useState } from "preact/hooks";
import { LeadEventsDocument, type LeadEventsSubscription } from "../generated/inbox";
import { graphqlPath, headersFor, nextLogin } from "./service";

type LeadEvent = LeadEventsSubscription["leadEvents"];

const firstWait = 1_000; // before the first attempt after a disconnection, in milliseconds
const maxWait = 5_000;
const silence = 4_500; // the service sends an event or a comment every two seconds

type Message = { event: LeadEvent } | { reachable: boolean };

const listeners = new Set<(event: LeadEvent) => void>();
const tabs = new BroadcastChannel("siteapi-inbox-live");
let position: string | null = null; // of the last event, in any tab
let abort: AbortController | undefined; // stops following; undefined: no view follows

let reachable = true; // whether the last request reached the service
const watchers = new Set<(reachable: boolean) => void>();

/** Whether the service is reachable, according to the last request of a view that follows it. */
export function useReachable(): boolean {
  const [state, setState] = useState(reachable);
  useEffect(() => {
    watchers.add(setState);
    return () => void watchers.delete(setState);
  }, []);
  return state;
}

/** Records in all tabs whether the service is reachable. */
function report(next: boolean) {
  if (next === reachable) return;
  if (navigator.locks) tabs.postMessage({ reachable: next } satisfies Message);
  setReachable(next);
}

function setReachable(next: boolean) {
  reachable = next;
  for (const watcher of watchers) watcher(next);
}

/** Calls a function with each event while a view is shown. After `restarted`, everything must be loaded again. */
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
  setReachable(true); // the page or the login has just come from it
  tabs.onmessage = ({ data }: MessageEvent<Message>) => ("event" in data ? receive(data.event) : setReachable(data.reachable));
  void followLogins(signal);
}

/** Follows the stream during each login, until the signal aborts. */
async function followLogins(signal: AbortSignal) {
  for (;;) {
    // The tab with the lock follows the stream; when it is closed, another tab takes over. Locks exist only on pages that
    // were loaded over HTTPS or from this machine.
    if (!navigator.locks) await follow(signal);
    else await navigator.locks.request("siteapi-inbox-live", { signal }, () => follow(signal)).catch(() => {});
    if (signal.aborted) return;
    await nextLogin(signal);
  }
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

/** Follows the stream until the login ends or the signal aborts. After a disconnection it reconnects with jitter. */
async function follow(signal: AbortSignal) {
  for (let wait = firstWait; !signal.aborted; wait = Math.min(wait * 2, maxWait)) {
    const before = position;
    const status = await read(signal).catch(() => 0);
    if (signal.aborted) return;
    report(status > 0 && status < 500);
    if (status === 401 || status === 403) return;
    if (position !== before) wait = firstWait;
    await pause(wait * (0.5 + Math.random()), signal);
  }
}

/** Waits for a time, or until the browser is online again. */
const pause = (time: number, signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    const end = AbortSignal.any([signal, AbortSignal.timeout(time)]);
    end.addEventListener("abort", resolve, { once: true });
    addEventListener("online", resolve, { once: true, signal: end });
  });

/** Reads a stream to its end and returns its status. */
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
      for (const event of events) deliver(event);
    }
  } finally {
    clearTimeout(timer);
  }
  return response.status;
}

/** Delivers an event to this tab and to the others. Comments have no data. */
function deliver(text: string) {
  const data = text.split("\n").find((line) => line.startsWith("data: "));
  if (!data) return;
  const event = (JSON.parse(data.slice(6)) as { data?: LeadEventsSubscription }).data?.leadEvents;
  if (!event) return;
  if (navigator.locks) tabs.postMessage({ event } satisfies Message);
  receive(event);
}
