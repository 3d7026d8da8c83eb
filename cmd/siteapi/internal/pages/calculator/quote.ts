// What can be chosen. What it costs is for the service to say.
import type { CalculatorQuery, EstimateQuoteQuery, Locale, QuoteSelectionsInput } from "../generated/calculator.js";

export const groups = ["projectType", "feature", "complexity", "timeline"] as const;
export type Group = (typeof groups)[number];

/** A document of type quoteOption. */
interface OptionFields {
  group?: string;
  order?: number;
  slug?: { current?: string };
  label?: Partial<Record<Locale, string>>;
  price?: number;
  percent?: number;
}

/** A choice in the visitor's language. */
export interface Option {
  group: Group;
  slug: string;
  label: string;
  price: number | undefined;
  percent: number | undefined;
}

/** Returns the choices, group by group in the editors' order. One without a slug or a known group is left out. */
export function readOptions(documents: CalculatorQuery["options"], locale: Locale): Option[] {
  return documents
    .map(({ fields }) => fields as OptionFields)
    .sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
    .flatMap(({ group, slug, label, price, percent }) => {
      const known = groups.find((name) => name === group);
      if (!known || !slug?.current) return [];
      return [{ group: known, slug: slug.current, label: label?.[locale] ?? label?.en ?? slug.current, price, percent }];
    })
    .sort((a, b) => groups.indexOf(a.group) - groups.indexOf(b.group));
}

/** The price of what is chosen, as the service computes it. */
export type Estimate = EstimateQuoteQuery["estimateQuote"];

/** What the visitor has chosen: slugs, empty where nothing is. */
export type Selections = Record<Exclude<keyof QuoteSelectionsInput, "features">, string> & { features: string[] };

/** The field of the selections that each group is chosen for. */
export const fieldOf: Record<Group, keyof Selections> = {
  projectType: "projectType",
  feature: "features",
  complexity: "complexity",
  timeline: "timeline",
};

/** Returns the options that are chosen. */
export function chosen(options: Option[], selections: Selections): Option[] {
  const slugs = new Set([selections.projectType, selections.complexity, selections.timeline, ...selections.features]);
  return options.filter((option) => slugs.has(option.slug));
}

/** The currency of the options' prices until an estimate names it. */
const usualCurrency = "EUR";

/** Returns how money is written in a language; cents only where there are some. */
export const moneyFormat = (locale: Locale, currency: string | null | undefined) =>
  new Intl.NumberFormat(locale, {
    style: "currency",
    currency: currency ?? usualCurrency,
    currencyDisplay: "narrowSymbol",
    trailingZeroDisplay: "stripIfInteger",
    useGrouping: "always",
  });

/** What is sent as the estimate of a request. The service computes it again, so where nothing is known 0 stands for it. */
export const sentEstimate = (estimate: Estimate | null) => ({
  min: estimate?.min ?? 0,
  max: estimate?.max ?? 0,
  currency: estimate?.currency ?? usualCurrency,
});
