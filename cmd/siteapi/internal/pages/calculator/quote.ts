// The options of the calculator. The service computes their price.
import type { CalculatorQuery, EstimateQuoteQuery, Locale, QuoteSelectionsInput } from "../generated/calculator.js";
import { textIn } from "./localized.js";

export const groups = ["projectType", "feature", "complexity", "timeline"] as const;
export type Group = (typeof groups)[number];

/** A document of type quoteOption. */
interface OptionFields {
  group?: string;
  order?: number;
  slug?: string | { current?: string };
  label?: unknown;
  price?: number;
  percent?: number;
}

/** An option in the visitor's language. */
export interface Option {
  group: Group;
  slug: string;
  label: string;
  price: number | undefined;
  percent: number | undefined;
}

/** Returns the options by group, in the editors' order. Options without a slug or a known group are skipped. */
export function readOptions(documents: CalculatorQuery["options"], locale: Locale): Option[] {
  return documents
    .map(({ fields }) => fields as OptionFields)
    .sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
    .flatMap(({ group, slug, label, price, percent }) => {
      const known = groups.find((name) => name === group);
      const name = typeof slug === "object" ? slug.current : slug;
      if (!known || !name) return [];
      return [{ group: known, slug: name, label: textIn(label, locale) || name, price, percent }];
    })
    .sort((a, b) => groups.indexOf(a.group) - groups.indexOf(b.group));
}

/** The price of the choices, computed by the service. */
export type Estimate = EstimateQuoteQuery["estimateQuote"];

/** The visitor's choices: slugs, or empty strings. */
export type Selections = Record<Exclude<keyof QuoteSelectionsInput, "features">, string> & { features: string[] };

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

/** The currency of the options' prices until an estimate specifies it. */
const usualCurrency = "EUR";

/** Returns the format of money in a language, with cents only if there are any. */
export const moneyFormat = (locale: Locale, currency: string | null | undefined) =>
  new Intl.NumberFormat(locale, {
    style: "currency",
    currency: currency ?? usualCurrency,
    currencyDisplay: "narrowSymbol",
    trailingZeroDisplay: "stripIfInteger",
    useGrouping: "always",
  });

/** The estimate of a request. The service computes it again, so unknown amounts are sent as 0. */
export const sentEstimate = (estimate: Estimate | null) => ({
  min: estimate?.min ?? 0,
  max: estimate?.max ?? 0,
  currency: estimate?.currency ?? usualCurrency,
});
