// Numbers, money and times, in the language of the page.
import type { Locale } from "../generated/inbox";
import { formFor, language, region, words } from "./words";
import { type Forms, forms } from "./words/en";

/** Spells out a slug: `web-app` becomes Web app. */
export const slugWords = (slug: string) => capital(slug.replace(/[-_]/g, " "));
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export function languageName(locale: Locale | null): string {
  if (!locale) return words.notKnown;
  return capital(new Intl.DisplayNames(language, { type: "language" }).of(locale) ?? locale);
}

/** The languages of visitors, for a filter. */
export const languages = (): Record<Locale, string> => ({
  en: languageName("en"),
  es: languageName("es"),
  ro: languageName("ro"),
});

// Formats are cached, because creating one is slow and each row of a list needs several.
const numberFormats = new Map<string, Intl.NumberFormat>();
const dateFormats = new Map<string, Intl.DateTimeFormat>();

function numberFormat(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${region()} ${JSON.stringify(options)}`;
  const format = numberFormats.get(key) ?? new Intl.NumberFormat(region(), options);
  numberFormats.set(key, format);
  return format;
}

/** The service's TIME_ZONE, which all days and times on the page are of. */
const zone = () => ({ timeZone: document.getElementById("inbox")?.dataset.zone || "UTC" });

function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${region()} ${JSON.stringify(options)}`;
  const format = dateFormats.get(key) ?? new Intl.DateTimeFormat(region(), { ...zone(), ...options });
  dateFormats.set(key, format);
  return format;
}

export const count = (n: number) => numberFormat({}).format(n);
export const decimal = (n: number) => numberFormat({ maximumFractionDigits: 4 }).format(n);

/** A number and its noun. */
export const plural = (n: number, forms: Forms) => `${count(n)} ${formFor(n, forms)}`;

/** The number of items of an erasure, such as `1 document`; null: it can't be counted beforehand. */
export function items(n: number | null, unit: string): string {
  const noun = (words.nouns as Record<string, Forms>)[unit] ?? forms(unit, unit);
  return n === null ? words.erase.perhaps(noun.few) : plural(n, noun);
}

export const percent = (share: number) =>
  numberFormat({ style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share);

/** The range of an estimate, or that the price is still to be agreed. */
export const estimateText = (estimate: Range & { toBeAgreed: boolean }) =>
  estimate.toBeAgreed ? words.toAgree : money(estimate);

interface Range {
  min: number;
  max: number;
  currency: string;
}

/** A range of money, with cents if one of its bounds has any. */
export function money({ min, max, currency }: Range): string {
  const whole = Number.isInteger(min) && Number.isInteger(max);
  const format = numberFormat({ style: "currency", currency, maximumFractionDigits: whole ? 0 : 4 });
  return min === max ? format.format(max) : format.formatRange(min, max);
}

export const amount = (n: number, currency: string) => money({ min: n, max: n, currency });

/** The price of one unit, which may have more decimals than an amount. */
export const unitAmount = (n: number, currency: string) =>
  numberFormat({ style: "currency", currency, maximumFractionDigits: 4, trailingZeroDisplay: "stripIfInteger" }).format(n);

/** A percentage with its decimals, such as the rate of a tax. */
export const rate = (percentage: number) =>
  numberFormat({ style: "percent", maximumFractionDigits: 4 }).format(percentage / 100);

/**
 * An amount as people type it in the language of the page, such as 1.200,50 in Romanian, with or without separators of
 * thousands; null: it can't be read for sure, as with more decimals than the currency has.
 */
export function typedAmount(text: string, currency: string): number | null {
  const parts = numberFormat({ useGrouping: true }).formatToParts(12345.6);
  const separator = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
  const [whole = "", cents = "", ...more] = text.replace(/\s/g, "").split(separator("decimal"));
  const groups = whole.split(separator("group").trim() || " ");
  const wellGrouped = groups.length === 1 || groups.every((group, i) => (i ? /^\d{3}$/ : /^[1-9]\d{0,2}$/).test(group));
  const digits = groups.join("");
  const decimals = numberFormat({ style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;
  const readable = wellGrouped && more.length === 0 && /^\d+$/.test(digits) && /^\d*$/.test(cents) && cents.length <= decimals;
  return readable ? Number(`${digits}.${cents}`) : null;
}

/** The inverse of `typedAmount`, without separators of thousands. */
export const amountToType = (n: number | null | undefined) =>
  n == null ? "" : numberFormat({ useGrouping: false, maximumFractionDigits: 4 }).format(n);

/** The day of a time as fields for dates have it, such as `2026-11-23`. */
export const dayText = (at: Date) => new Intl.DateTimeFormat("en-CA", { ...zone(), dateStyle: "short" }).format(at);
const daysBetween = (from: string | number, to: string | number) =>
  (Date.parse(dayText(new Date(to))) - Date.parse(dayText(new Date(from)))) / 86_400_000;
const daysAfter = (day: string, days: number) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);

/** A time relative to now: `4 minutes ago`, `in 2 hours`. */
export function relative(at: string, now: number): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const seconds = (Date.parse(at) - now) / 1000;
  if (Math.abs(seconds) >= 86_400) return format.format(daysBetween(now, at), "day");
  if (Math.abs(seconds) >= 3_600) return format.format(Math.trunc(seconds / 3_600), "hour");
  if (Math.abs(seconds) >= 60) return format.format(Math.trunc(seconds / 60), "minute");
  return seconds > 0 ? words.soon : words.justNow;
}

export const exact = (at: string) => dateFormat({ dateStyle: "full", timeStyle: "short" }).format(new Date(at));
export const clock = (at: string) => dateFormat({ timeStyle: "short" }).format(new Date(at));
export const monthName = (month: string) => capital(dateFormat({ month: "long", year: "numeric" }).format(new Date(`${month}-15T12:00Z`)));
export const hours = (n: number) => numberFormat({ style: "unit", unit: "hour", maximumFractionDigits: 1 }).format(n);

/** A day, with its year if that is another one: 6 Nov, 6 Nov 2025. */
export function shortDay(at: Date): string {
  const year = (of: Date) => dayText(of).slice(0, 4);
  const isOther = year(at) !== year(new Date());
  return dateFormat({ day: "numeric", month: "short", ...(isOther && { year: "numeric" }) }).format(at);
}

/** The day of a time, as the heading of a list: Today, Yesterday, Friday 6 November. */
export function day(at: string, now: number): string {
  const days = daysBetween(at, now);
  if (days <= 1) return days === 1 ? words.yesterday : words.today;
  const month = { day: "numeric", month: "long" } as const;
  return capital(
    dateFormat(days < 180 ? { weekday: "long", ...month } : { ...month, year: "numeric" }).format(new Date(at)),
  );
}

/** The start of a period such as `7d`, at midnight; null: no start. */
export function periodStart(period: string | undefined): string | null {
  const days = Number(/^(\d{1,4})d$/.exec(period ?? "")?.[1]);
  return days ? midnightOf(dayText(new Date()), 1 - days) : null;
}

/** The start of a day such as `2026-11-23`, or of the day some days later, or a time itself; null: neither. */
export function midnightOf(text: string | undefined, later = 0): string | null {
  if (!text || Number.isNaN(Date.parse(text))) return null;
  if (text.includes("T")) return text;
  const day = daysAfter(text, later);
  const offset = (at: number) => Date.parse(`${new Date(at).toLocaleString("sv-SE", zone()).replace(" ", "T")}Z`) - at;
  const utc = Date.parse(day);
  const begins = utc - offset(utc - offset(utc));
  return new Date(dayText(new Date(begins)) < day ? begins + 3_600_000 : begins).toISOString(); // no midnight: 01:00
}

/** The inverse of `midnightOf`: the day that begins at a time, or the day some days earlier; otherwise the time. */
export function dayOf(at: string | null, earlier = 0): string | undefined {
  if (!at) return undefined;
  const day = dayText(new Date(at));
  return midnightOf(day) === new Date(at).toISOString() ? daysAfter(day, -earlier) : at;
}

/** The periods of a list, for a filter. */
export function periods(): Record<string, string> {
  const { all: _, ...others } = words.periods;
  return others;
}
