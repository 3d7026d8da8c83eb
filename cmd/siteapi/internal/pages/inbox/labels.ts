// The names of choices, as the editors of the CMS give them.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { fieldOf, readOptions } from "../calculator/quote";
import { LabelsDocument } from "../generated/inbox";
import { slugWords } from "./format";
import { useQuery } from "./service";
import { language } from "./words";

/** The names by slug, for each field. */
type Names = ReadonlyMap<string, Record<string, string>>;

const Labels = createContext<Names>(new Map());
export const LabelsProvider = Labels.Provider;

/** Names a choice of a field; one that the CMS does not have by the words of its slug. */
export function useLabel(): (field: string, slug: string) => string {
  const names = useContext(Labels);
  return (field, slug) => names.get(field)?.[slug] ?? slugWords(slug);
}

/** The names of all choices of a field, by slug. */
export const useChoices = (field: string) => useContext(Labels).get(field) ?? {};

/** Asks for the names. Without an answer, as where the site serves no options, slugs stand for them. */
export function useLabels(): Names {
  const { data } = useQuery(LabelsDocument, { locale: language });
  const names = new Map<string, Record<string, string>>();
  for (const { group, slug, label } of data ? readOptions(data.options, language) : []) {
    const field = fieldOf[group];
    names.set(field, { ...names.get(field), [slug]: label });
  }
  return names;
}
