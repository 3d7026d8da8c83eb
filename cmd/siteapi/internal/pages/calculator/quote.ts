// What can be chosen, and what it costs.
import type { CalculatorQuery, Locale, QuoteSelectionsInput } from "../generated/calculator.js";

export const currency = "EUR";
export const groups = ["projectType", "feature", "complexity", "timeline"] as const;
export type Group = (typeof groups)[number];

/** A document of type quoteOption. */
interface OptionFields {
  group?: string;
  order?: number;
  slug?: { current?: string };
  label?: Partial<Record<Locale, string>>;
  price?: number;
}

/** A choice in the visitor's language. */
export interface Option {
  group: Group;
  slug: string;
  label: string;
  price: number;
}

/** Returns the choices, group by group in the editors' order. One without a slug or a known group is left out. */
export function readOptions(documents: CalculatorQuery["options"], locale: Locale): Option[] {
  return documents
    .map(({ fields }) => fields as OptionFields)
    .sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
    .flatMap(({ group, slug, label, price }) => {
      const known = groups.find((name) => name === group);
      if (!known || !slug?.current) return [];
      return [{ group: known, slug: slug.current, label: label?.[locale] ?? label?.en ?? slug.current, price: price ?? 0 }];
    })
    .sort((a, b) => groups.indexOf(a.group) - groups.indexOf(b.group));
}

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

/** The range: what is chosen adds up to its lower end; work that is not known yet makes up the rest. In whole hundreds. */
export function estimate(options: Option[]) {
  const sum = options.reduce((total, option) => total + option.price, 0);
  return { min: Math.round(sum / 100) * 100, max: Math.round((sum * 1.35) / 100) * 100, currency };
}

/** Returns how money is written in a language. */
export const moneyFormat = (locale: Locale) =>
  new Intl.NumberFormat(locale, {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
    maximumFractionDigits: 0,
    useGrouping: "always",
  });
