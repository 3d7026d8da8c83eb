// Shared parts of the views: times, chips, icons, placeholders and messages.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Locale } from "../generated/inbox";
import { estimateText, exact, plural, relative } from "./format";
import { readRoute, setParams, type View } from "./route";
import type { Failure, Query } from "./service";
import type { Mark, Tone } from "./states";
import { chooseLanguage, language, ownNames, words } from "./words";

/** The current time, updated every half minute. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** A past time, relative to now or as a text. The tooltip shows the exact time. */
export function Time({ at, now, text }: { at: string; now: number; text?: string }) {
  return (
    <time dateTime={at} title={exact(at)}>{text ?? relative(at, Math.max(now, Date.parse(at)))}</time>
  );
}

export function Chip({ text, tone }: Mark) {
  return <span class={`chip ${tone}`}>{text}</span>;
}

/**
 * The attributes of a field for an address. In one of the type `email`, Chromium replaces letters of the domain, such as
 * faß.de by fass.de, so that another person would be found.
 */
export const addressField = {
  type: "text",
  inputMode: "email",
  autocapitalize: "none",
  spellcheck: false,
  maxLength: 254,
} as const;

/** Handles the submission of a form, given a function that returns the trimmed text of one of its fields. */
export const submits = (act: (value: (name: string) => string) => unknown) => (event: SubmitEvent) => {
  event.preventDefault();
  const data = new FormData(event.currentTarget as HTMLFormElement);
  void act((name) => String(data.get(name)).trim());
};

interface Name {
  readonly firstName: string;
  readonly lastName: string;
}

/** The name of the person; viewers see only the lead's reference. */
export const nameOf = ({ contact, reference }: { contact: Name | null; reference: string }): Name =>
  contact ?? { firstName: reference, lastName: "" };

/** The range of an estimate. A translator would change the amounts. */
export const Estimate = ({ of }: { of: Parameters<typeof estimateText>[0] }) => (
  <span translate={of.toBeAgreed}>{estimateText(of)}</span>
);

/** A full name in either writing direction. */
export const FullName = ({ of }: { of: Name }) => <bdi>{`${of.firstName} ${of.lastName}`}</bdi>;

/** Initials on a color that is derived from the name. */
export function Avatar({ of }: { of: Name }) {
  const initials = [of.firstName, of.lastName].map((part) => [...part.trim()][0] ?? "").join("");
  const hue = [...`${of.firstName}${of.lastName}`].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % 6;
  return (
    <span class={`avatar hue${hue}`} aria-hidden="true">{initials.toUpperCase()}</span>
  );
}

const paths = {
  leads: "M3 13h5l1.5 3h5L16 13h5M5.5 5h13L21 13v5a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-5z",
  deliveries: "M21 3 10.5 13.5M21 3l-6.5 18-4-7.5L3 9.5z",
  unfinished: "M12 7v5l3 2M21 12a9 9 0 1 1-9-9",
  funnel: "M5 20V10M12 20V4M19 20v-7",
  report: "M4 19h16M5 15l5-5 4 3 5-7",
  health: "M3 12h4l3-8 4 16 3-8h4",
  people: "M12 3l7 3v5c0 4.5-3 8-7 10-4-2-7-5.5-7-10V6z",
  audit: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  logins: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c0-3.5 3.5-5.5 8-5.5s8 2 8 5.5",
  search: "M20 20l-4.5-4.5M17 10.5a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0z",
  close: "M6 6l12 12M18 6L6 18",
  back: "M15 5l-7 7 7 7",
  save: "M12 4v11m-4.5-4.5L12 15l4.5-4.5M4 20h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  leave: "M10 4H5v16h5M15 8l4 4-4 4m4-4H9",
} as const;

export function Icon({ name }: { name: keyof typeof paths }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d={paths[name]} /></svg>
  );
}

/** A placeholder until a query has data, or its failure. */
export function Pending({ query, rows }: { query: Omit<Query<unknown>, "update">; rows: number }) {
  if (query.failure) return <Trouble failure={query.failure} retry={query.reload} />;
  return query.data === undefined ? <Skeleton rows={rows} /> : null;
}

/** A failure, and a button to try again. */
export function Trouble({ failure, retry }: { failure: Failure; retry: () => void }) {
  return (
    <div class="trouble" role="alert">
      <p>{failure.message}</p>
      {failure.retryAfter > 0 && (
        <p class="muted">{words.retrying(plural(failure.retryAfter, words.nouns.seconds))}</p>
      )}
      <button type="button" onClick={retry}>{words.retry}</button>
    </div>
  );
}

/** Gray placeholders that prevent the layout from shifting when the data arrives. */
export function Skeleton({ rows }: { rows: number }) {
  return (
    <div class="skeleton" role="status" aria-label={words.loading}>
      {Array.from({ length: rows }, (_, i) => (
        <span key={i} />
      ))}
    </div>
  );
}

/** A text of the service, with commands in backticks. */
export function Commands({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 ? <code>{part}</code> : part))}</>;
}

interface PageProps {
  view: View;
  intro?: ComponentChildren;
  /** Filters and buttons next to the heading. */
  tools?: ComponentChildren;
  children: ComponentChildren;
}

/** A view that fills the page, with its heading. */
export function Page({ view, intro, tools, children }: PageProps) {
  return (
    <main class="page">
      <div class="heading">
        <div>
          <h1>{words.views[view]}</h1>
          <p class="muted">{intro}</p>
        </div>
        {tools}
      </div>
      {children}
    </main>
  );
}

/** A button that loads a view again. */
export const Again = ({ run, busy }: { run: () => void; busy: boolean }) => (
  <button type="button" onClick={run} disabled={busy}>{words.again}</button>
);

export function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <dl class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </dl>
  );
}

/** Explains why a view has nothing to show. */
export function Empty({ title, hint, children }: { title: string; hint?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {hint && <p class="muted">{hint}</p>}
      {children}
    </div>
  );
}

/** A button that loads the next page, also when it is scrolled into view. */
export function More({ load }: { load: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const seen = new IntersectionObserver(([entry]) => entry?.isIntersecting && load(), { rootMargin: "400px" });
    if (button.current) seen.observe(button.current);
    return () => seen.disconnect();
  });
  return (
    <button type="button" class="more" ref={button} onClick={load}>{words.more}</button>
  );
}

/** The options of a select element, by value. */
export const Options = ({ of }: { of: Record<string, string> }) => (
  <>
    {Object.entries(of).map(([value, text]) => (
      <option key={value} value={value}>{text}</option>
    ))}
  </>
);

interface SelectProps {
  /** The parameter in the URL. */
  name: string;
  label: string;
  /** The choice without the parameter. */
  all: string;
  options: Record<string, string>;
}

/** A filter that is stored in the URL of the page. */
export function Select({ name, label, all, options }: SelectProps) {
  const value = readRoute().params[name] ?? "";
  const onChange = (e: { currentTarget: HTMLSelectElement }) => setParams({ [name]: e.currentTarget.value });
  return (
    <select aria-label={label} class={value ? "set" : ""} value={value} onChange={onChange}>
      <option value="">{all}</option>
      <Options of={options} />
    </select>
  );
}

/** The language of the page. Each language has its own name. */
export function LanguageSelect() {
  return (
    <select
      class="language"
      aria-label={words.language}
      value={language}
      onChange={(e) => chooseLanguage(e.currentTarget.value as Locale)}
    >
      {Object.entries(ownNames).map(([code, name]) => (
        <option key={code} value={code} lang={code}>{name}</option>
      ))}
    </select>
  );
}

/** A short message that disappears by itself, unless it is about something that is under way. */
interface Toast {
  text: string;
  tone: Tone;
  /** A button on the message, which stays longer then. */
  action?: { text: string; run: () => void };
}

export const undoTime = 20_000; // an action can be undone for so long, in milliseconds

let show: (toast: Toast | undefined) => void = () => {};

/** Shows a message; undefined removes it. */
export const toast = (message: Toast | undefined) => show(message);

export function Toasts() {
  const [message, setMessage] = useState<Toast>();
  show = setMessage;
  useEffect(() => {
    if (!message || message.tone === "busy") return;
    const timer = setTimeout(() => setMessage(undefined), message.action ? undoTime : 6000);
    return () => clearTimeout(timer);
  }, [message]);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {message && (
        <div class={`toast ${message.tone}`}>
          {message.text}
          {message.action && (
            <button type="button" onClick={message.action.run}>{message.action.text}</button>
          )}
        </div>
      )}
    </div>
  );
}

/** A question before an action that can't be undone. */
export interface Question {
  /** The action, and how many leads it changes. */
  title: string;
  /** The consequences. */
  text: string;
  /** The label of the button that confirms it. */
  confirm: string;
  /** The label of a reason, if the action needs one. */
  reason?: string;
}

type Asked = Question & { answered: (reason: string | undefined) => void };

let ask: (asked: Asked | undefined) => void = () => {};

/** Asks the user. Returns the reason, or any text if there is none; undefined if the user declines. */
export const confirmed = (question: Question) =>
  new Promise<string | undefined>((answered) => ask({ ...question, answered }));

/** The dialog of the question that is open. */
export function Questions() {
  const [asked, setAsked] = useState<Asked>();
  const dialog = useRef<HTMLDialogElement>(null);
  ask = setAsked;
  useEffect(() => dialog.current?.showModal(), [asked]);
  if (!asked) return null;

  const close = () => {
    asked.answered(dialog.current?.returnValue || undefined);
    setAsked(undefined);
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="question">
      <form class="stack" onSubmit={submits((value) => dialog.current?.close(asked.reason ? value("reason") : asked.confirm))}>
        <h2 id="question">{asked.title}</h2>
        <p>{asked.text}</p>
        {asked.reason && (
          <input name="reason" required pattern=".*\S.*" maxLength={500} autofocus aria-label={asked.reason} placeholder={asked.reason} />
        )}
        <div class="actions">
          <button type="submit" class="primary">{asked.confirm}</button>
          <button type="button" onClick={() => dialog.current?.close()}>{words.cancel}</button>
        </div>
      </form>
    </dialog>
  );
}

/** Runs an action that may fail, and shows the result, with a button if it can be undone. */
export const perform = (run: () => Promise<unknown>, done: string, undo?: () => Promise<unknown>): Promise<void> =>
  run().then(
    () => {
      const action = undo && { text: words.undo, run: () => void perform(undo, words.undone) };
      toast({ text: done, tone: "good", ...(action && { action }) });
    },
    (failure: Failure) => toast({ text: failure.message, tone: "bad" }),
  );

/** Runs an action after its question, if it has one, shows the result, and reports whether it is running. */
export function useAction(run: (reason: string) => Promise<unknown>, done: string, { question, undo }: Care = {}) {
  const [busy, setBusy] = useState(false);
  const act = async () => {
    const reason = question ? await confirmed(question) : "";
    if (reason === undefined) return;
    setBusy(true);
    await perform(() => run(reason), done, undo);
    setBusy(false);
  };
  return { busy, act };
}

/** What protects from an action by mistake. */
interface Care {
  /** The question before it, if it can't be undone. */
  question?: Question;
  undo?: () => Promise<unknown>;
}

interface ActionProps extends Care {
  children: ComponentChildren;
  /** The action, which may fail, with the reason from its question. */
  run: (reason: string) => Promise<unknown>;
  /** The message after its success. */
  done: string;
  kind?: string;
  /** The key that presses the button while a lead is read. */
  shortcut?: string;
}

/** A button that is disabled while its action runs. */
export function Action({ children, run, done, kind = "", shortcut, ...care }: ActionProps) {
  const { busy, act } = useAction(run, done, care);
  return (
    <button type="button" class={kind} data-key={shortcut} disabled={busy} onClick={act}>{children}</button>
  );
}
