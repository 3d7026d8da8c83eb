// The options of the calculator. The service computes their price.
import type { CalculatorQuery, EstimateQuoteQuery, Locale, QuoteSelectionsInput } from "../generated/calculator";
import type { FieldError } from "./service";

export const groups = ["projectType", "feature", "complexity", "timeline"] as const;
export type Group = (typeof groups)[number];

/** An option in the visitor's language. The fields of its quantity are null if it has no unit. */
export type Option = CalculatorQuery["options"][number] & { group: Group };

/** Returns the options by group, in the editors' order. */
export const readOptions = (options: CalculatorQuery["options"]): Option[] =>
  groups.flatMap((group) =>
    options.filter(({ field }) => field === fieldOf[group]).map((option) => ({ ...option, group })),
  );

/** The price of the choices, computed by the service. */
export type Estimate = EstimateQuoteQuery["estimateQuote"];

/** The visitor's choices: slugs, or empty strings. */
export type Selections = Record<Exclude<keyof QuoteSelectionsInput, "features" | "quantities">, string> & {
  features: string[];
};

/** The quantities as typed, by slug. */
export type Quantities = Partial<Record<string, string>>;

/** The field of the selections for each group. */
export const fieldOf: Record<Group, keyof Selections> = {
  projectType: "projectType",
  feature: "features",
  complexity: "complexity",
  timeline: "timeline",
};

/** Returns the chosen options. */
export function chosen(options: Option[], selections: Selections): Option[] {
  const slugs = new Set([selections.projectType, selections.complexity, selections.timeline, ...selections.features]);
  return options.filter((option) => slugs.has(option.slug));
}

/** Formats a number in a language, as it is typed. */
export const plain = (n: number, locale: Locale) =>
  new Intl.NumberFormat(locale, { maximumFractionDigits: 2, useGrouping: false }).format(n);

/** Formats a number in a language, as it is read: with its thousands in groups. */
export const grouped = (n: number, locale: Locale) =>
  new Intl.NumberFormat(locale, { maximumFractionDigits: 2, useGrouping: "always" }).format(n);

/** Formats a percentage in a language, without its sign. */
export const share = (percent: number, locale: Locale) =>
  new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 4 }).format(Math.abs(percent) / 100);

/** Reads a typed quantity in a language. Of two separators, the last one begins the decimals; 1.200 is a thousand in es. */
export function readCount(typed: string, locale: Locale): number {
  const digits = typed.replace(/[\s'’]/g, "");
  const grouping = plain(0.5, locale)[1] === "," ? "." : ",";
  const groups = new RegExp(`^[1-9]\\d{0,2}(\\${grouping}\\d{3})+(?!\\d)`);
  const text = digits.replace(groups, (whole) => whole.replaceAll(grouping, "")).replace(",", ".");
  return /^\d+(\.\d{0,2})?$/.test(text) ? Number(text) : NaN;
}

/** Returns a quantity of an option: as typed, or the one that the editors suggest. */
export const countOf = ({ slug, quantity }: Option, typed: Quantities, locale: Locale) =>
  typed[slug] === undefined ? quantity ?? NaN : readCount(typed[slug], locale);

/** Reports whether the bounds and steps of an option allow a quantity. */
export const allows = ({ minQuantity, maxQuantity, step }: Option, count: number) =>
  count >= minQuantity! && count <= maxQuantity! && Math.round((count - minQuantity!) * 100) % Math.round(step! * 100) === 0;

/** Returns the quantities of the chosen options, NaN for those that can't be read. */
const counts = (options: Option[], selections: Selections, typed: Quantities, locale: Locale) =>
  chosen(options, selections)
    .filter(({ unit }) => unit)
    .map((option) => ({ slug: option.slug, count: countOf(option, typed, locale) }));

const sendable = ({ count }: { count: number }) => count > 0 && count <= 1e6;

/** Returns the selections with the quantities of the chosen options. The service says which of them have no price. */
export const measured = (...choices: Parameters<typeof counts>) => ({
  ...choices[1],
  quantities: counts(...choices).filter(sendable),
});

/** Returns the errors of the quantities that are typed and can't be sent. An empty field is a price to be agreed. */
export const unreadable = (...choices: Parameters<typeof counts>): FieldError[] =>
  counts(...choices)
    .filter((quantity) => !sendable(quantity) && choices[2][quantity.slug]?.trim())
    .map(({ slug }) => ({ field: quantityField(slug), code: "quantity_required" }));

/** The field of an option's quantity, in errors. */
export const quantityField = (slug: string) => `selections.quantities.${slug}`;

/** The currency of a request if the site has no price rules. */
const usualCurrency = "EUR";

/** Returns the format of money in a language, with cents only if there are any, and those of a unit's price. */
export const moneyFormat = (locale: Locale, currency: string | null | undefined) =>
  new Intl.NumberFormat(locale, {
    style: "currency",
    currency: currency ?? usualCurrency,
    currencyDisplay: "narrowSymbol",
    maximumFractionDigits: 4,
    trailingZeroDisplay: "stripIfInteger",
    useGrouping: "always",
  });

/** The estimate of a request. The service computes it again, so unknown amounts are sent as 0. */
export const sentEstimate = (estimate: Estimate | null, options: Option[]) => ({
  min: estimate?.min ?? 0,
  max: estimate?.max ?? 0,
  currency: estimate?.currency ?? options[0]?.currency ?? usualCurrency,
});
