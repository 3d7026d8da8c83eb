// The inbox's texts: states, reasons and numbers, in words for sales.
import type { AuditAction, DeliveryState, DeliveryTarget, FunnelStepName, LeadSignal, LeadState, Locale, PriceStatus } from "../generated/inbox";

export type Tone = "good" | "busy" | "warn" | "bad" | "quiet";

const english = navigator.languages.find((l) => l.startsWith("en")) ?? "en-GB";

export const leadStates: Record<LeadState, { text: string; tone: Tone }> = {
  IN_REVIEW: { text: "In review", tone: "warn" },
  UNDER_WAY: { text: "On its way", tone: "busy" },
  FAILED: { text: "Needs attention", tone: "bad" },
  DELIVERED: { text: "Delivered", tone: "good" },
  REJECTED: { text: "Rejected", tone: "quiet" },
};

export const deliveryStates: Record<DeliveryState, { text: string; tone: Tone }> = {
  PENDING: { text: "Waiting", tone: "busy" },
  RUNNING: { text: "Being sent", tone: "busy" },
  RETRYING: { text: "Trying again", tone: "warn" },
  FAILED: { text: "Failed", tone: "bad" },
  DELIVERED: { text: "Delivered", tone: "good" },
  NOT_SENT: { text: "Not sent", tone: "quiet" },
};

export const targets: Record<DeliveryTarget, string> = {
  CRM: "CRM",
  CMS: "CMS",
  WEBHOOK: "Notification",
  VISITOR_MAIL: "Mail to the visitor",
  SALES_MAIL: "Mail to sales",
};

/** The targets within a sentence. */
const recipients: Record<DeliveryTarget, string> = {
  CRM: "the CRM",
  CMS: "the CMS",
  WEBHOOK: "your team's notification",
  VISITOR_MAIL: "the mail to the visitor",
  SALES_MAIL: "the mail to sales",
};

const arrived: Record<DeliveryTarget, string> = {
  CRM: "The CRM has it.",
  CMS: "The CMS has it.",
  WEBHOOK: "Your team has been told.",
  VISITOR_MAIL: "The mail server has taken the mail.",
  SALES_MAIL: "The mail server has taken the mail.",
};

/** What operators do. */
export const auditActions: Record<AuditAction, string> = {
  OPENED: "opened",
  LISTED: "listed leads",
  EXPORTED: "exported leads",
  RELEASED: "released",
  REJECTED: "rejected",
  RETRIED: "tried a delivery again",
  RESENT: "sent once more",
  WITHDRAWN: "withdrew a consent",
  ERASED: "erased",
};

/** The signals of a lead. Weak ones do not put it in review. */
export const signals: Record<LeadSignal, string> = {
  honeypot: "A field that people can't see was filled in. Programs fill in everything.",
  too_fast: "The form was sent faster than a person could fill it in.",
  no_challenge: "The bot check was skipped or not passed.",
  untracked: "The form was sent without using the calculator first.",
  unchecked: "The check for people did not answer at that moment.",
  estimate_mismatch: "The range that was sent is not the price of the choices.",
  unpriced: "Some of the choices have no price.",
};

/** Whose price the range of a lead is. */
export const priceStates: Record<PriceStatus, { text: string; tone: Tone }> = {
  VERIFIED: { text: "Our price", tone: "good" },
  HONOURED: { text: "Our price before it changed", tone: "good" },
  UNPRICED: { text: "To be confirmed", tone: "warn" },
  NOT_VERIFIED: { text: "As the visitor's browser sent it", tone: "quiet" },
};

/** The subject of an answer to a lead, in the visitor's language; the reference follows. */
export const mailSubject: Record<Locale, string> = {
  en: "Your quote request",
  es: "Su solicitud de presupuesto",
  ro: "Solicitarea dumneavoastră de ofertă",
};

/** The places of an erasure. */
export const places: Record<string, string> = {
  deliveries: "Waiting and past deliveries",
  cms: "CMS",
  crm: "CRM",
  mail: "Mails in files",
  database: "Database",
  cache: "Cache",
};

export const steps: Record<FunnelStepName, string> = {
  VISITED: "Opened the calculator",
  CHOSE: "Chose something",
  ESTIMATED: "Saw an estimate",
  TYPED: "Began the form",
  SUBMITTED: "Asked for a quote",
};

interface Delivery {
  target: DeliveryTarget;
  state: DeliveryState;
  nextAttemptAt: string | null;
  reason: string | null;
}

/** How a delivery is doing, as a sentence. */
export function deliverySentence(d: Delivery, now: number): string {
  const target = recipients[d.target];
  const next = d.nextAttemptAt ? relative(d.nextAttemptAt, now) : "";
  switch (d.state) {
    case "DELIVERED":
      return arrived[d.target];
    case "NOT_SENT":
      return `Not sent: ${d.reason ?? "the reason is not known"}.`;
    case "RUNNING":
      return d.target.endsWith("_MAIL") ? `Sending ${target} right now.` : `Being sent to ${target} right now.`;
    case "FAILED":
      return `Not delivered: ${reasonWords(d.reason)}. It is kept until you try again.`;
  }
  if (!d.reason) return next.startsWith("in ") ? `Waiting for ${target}; the first try is ${next}.` : "Waiting for its turn.";
  return `Waiting for ${target}: ${reasonWords(d.reason)}; next try ${next.startsWith("in ") ? next : "in a moment"}.`;
}

/** A reason without status codes; an unknown one is shown unchanged. */
export function reasonWords(reason: string | null): string {
  const [, kind, status] = /\b(limited|unavailable|refused|rejected)\b(?: \(HTTP (\d+)\))?/.exec(reason ?? "") ?? [];
  switch (kind) {
    case "limited":
      return "it asked us to slow down";
    case "refused":
      return "it does not accept our access, which an administrator has to renew";
    case "rejected":
      return "it refused the data of this lead";
    case "unavailable":
      return status ? "it had a problem of its own" : "it could not be reached";
  }
  return reason ?? "the reason is not known";
}

/** Words of a slug: `web-app` is Web app. */
export const slugWords = (slug: string) => capital(slug.replace(/[-_]/g, " "));
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const languageNames = new Intl.DisplayNames("en", { type: "language" });
export const languageName = (locale: Locale | null) => (locale ? (languageNames.of(locale) ?? locale) : "Not known");
export const languages: Record<Locale, string> = { en: languageName("en"), es: languageName("es"), ro: languageName("ro") };

/** The texts of states, to choose from. */
export const texts = (states: Record<string, { text: string }>) =>
  Object.fromEntries(Object.entries(states).map(([state, { text }]) => [state, text]));

/** A value from the address of the page if it is one that can be chosen. */
export const known = <K extends string>(choices: Record<K, unknown>, value: string | undefined) =>
  value && Object.hasOwn(choices, value) ? (value as K) : null;

export const count = (n: number) => new Intl.NumberFormat(english).format(n);
export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** A number of what an erasure counts, such as `1 document`; null: it can't be counted beforehand. */
export const items = (n: number | null, unit: string) =>
  n === null ? `${unit}, if there are any` : n === 1 ? `1 ${unit.replace(/ies$/, "y").replace(/s$/, "")}` : `${count(n)} ${unit}`;
export const percent = (share: number) =>
  new Intl.NumberFormat(english, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share);

export function money({ min, max, currency }: { min: number; max: number; currency: string }): string {
  const format = new Intl.NumberFormat(english, { style: "currency", currency, maximumFractionDigits: 0 });
  return min === max ? format.format(max) : format.formatRange(min, max);
}

const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const midnight = (at: string | number) => new Date(at).setHours(0, 0, 0, 0);
const daysBetween = (from: string | number, to: string | number) => Math.round((midnight(to) - midnight(from)) / 86_400_000);

/** A time as seen from now: `4 minutes ago`, `in 2 hours`. */
export function relative(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  if (Math.abs(seconds) >= 86_400) return relativeFormat.format(daysBetween(now, at), "day");
  if (Math.abs(seconds) >= 3_600) return relativeFormat.format(Math.trunc(seconds / 3_600), "hour");
  if (Math.abs(seconds) >= 60) return relativeFormat.format(Math.trunc(seconds / 60), "minute");
  return seconds > 0 ? "in less than a minute" : "just now";
}

const exactFormat = new Intl.DateTimeFormat(english, { dateStyle: "full", timeStyle: "short" });
const dayFormat = new Intl.DateTimeFormat(english, { weekday: "long", day: "numeric", month: "long" });
const oldDayFormat = new Intl.DateTimeFormat(english, { day: "numeric", month: "long", year: "numeric" });
const clockFormat = new Intl.DateTimeFormat(english, { timeStyle: "short" });
const shortDayFormat = new Intl.DateTimeFormat(english, { day: "numeric", month: "short" });

export const exact = (at: string) => exactFormat.format(new Date(at));
export const clock = (at: string) => clockFormat.format(new Date(at));
export const shortDay = (at: Date) => shortDayFormat.format(at);

/** The day of a time, as the heading of a list: Today, Yesterday, Friday 6 November. */
export function day(at: string, now: number): string {
  const days = daysBetween(at, now);
  if (days <= 1) return days === 1 ? "Yesterday" : "Today";
  return (days < 180 ? dayFormat : oldDayFormat).format(new Date(at));
}

/** The beginning of a period such as `7d`, at midnight; empty: no beginning. */
export function periodStart(period: string | undefined): string | null {
  const days = Number(/^(\d{1,4})d$/.exec(period ?? "")?.[1]);
  return days ? new Date(midnight(Date.now()) - (days - 1) * 86_400_000).toISOString() : null;
}

export const periods = { "1d": "Today", "7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "A year" };
