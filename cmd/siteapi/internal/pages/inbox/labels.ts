// The names of choices from the CMS.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { LabelsDocument } from "../generated/inbox";
import { slugWords } from "./format";
import { useQuery } from "./service";
import { language } from "./words";

/** The names by slug, for each field. */
type Names = ReadonlyMap<string, Record<string, string>>;

const Labels = createContext<Names>(new Map());
export const LabelsProvider = Labels.Provider;

/** Returns a function that names a choice of a field. A choice that is not in the CMS gets its slug spelled out. */
export function useLabel(): (field: string, slug: string) => string {
  const names = useContext(Labels);
  return (field, slug) => names.get(field)?.[slug] ?? slugWords(slug);
}

/** The names of all choices of a field, by slug. */
export const useChoices = (field: string) => useContext(Labels).get(field) ?? {};

/** Loads the names. If they are not available, for instance because the site has no options, slugs replace them. */
export function useLabels(): Names {
  const { data } = useQuery(LabelsDocument, { locale: language });
  const names = new Map<string, Record<string, string>>();
  for (const { field, slug, label } of data?.options ?? []) {
    names.set(field, { ...names.get(field), [slug]: label });
  }
  return names;
}
