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

function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${region()} ${JSON.stringify(options)}`;
  const format = dateFormats.get(key) ?? new Intl.DateTimeFormat(region(), options);
  dateFormats.set(key, format);
  return format;
}

export const count = (n: number) => numberFormat({}).format(n);

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

export function money({ min, max, currency }: Range): string {
  const format = numberFormat({ style: "currency", currency, maximumFractionDigits: 0 });
  return min === max ? format.format(max) : format.formatRange(min, max);
}

export const amount = (n: number, currency: string) => money({ min: n, max: n, currency });

const midnight = (at: string | number) => new Date(at).setHours(0, 0, 0, 0);
const daysBetween = (from: string | number, to: string | number) =>
  Math.round((midnight(to) - midnight(from)) / 86_400_000);

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
export const shortDay = (at: Date) => dateFormat({ day: "numeric", month: "short" }).format(at);

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
  return days ? new Date(midnight(Date.now()) - (days - 1) * 86_400_000).toISOString() : null;
}

/** The start of a day such as `2026-11-23`, or of the day some days later; null: not a day. */
export function midnightOf(text: string | undefined, later = 0): string | null {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? "") ?? [];
  const at = new Date(Number(year), Number(month) - 1, Number(day) + later);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** The periods of a list, for a filter. */
export function periods(): Record<string, string> {
  const { all: _, ...others } = words.periods;
  return others;
}
