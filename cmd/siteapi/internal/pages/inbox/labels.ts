// The names of choices, as the editors of the CMS give them.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { fieldOf, readOptions } from "../calculator/quote";
import { LabelsDocument, type LabelsQuery } from "../generated/inbox";
import { slugWords } from "./format";
import { useQuery } from "./service";
import { language } from "./words";

/** Names a choice of a field; one that the CMS does not have by the words of its slug. */
export type Label = (field: string, slug: string) => string;

const Labels = createContext<Label>((_, slug) => slugWords(slug));
export const LabelsProvider = Labels.Provider;
export const useLabel = () => useContext(Labels);

/** Asks for the labels. Without an answer, as where the site serves no options, slugs stand for them. */
export function useLabels(): Label {
  const { data } = useQuery(LabelsDocument, { locale: language });
  const labels = new Map<string, string>(data && entries(data));
  return (field, slug) => labels.get(`${field} ${slug}`) ?? slugWords(slug);
}

const entries = ({ options }: LabelsQuery) =>
  readOptions(options, language).map(({ group, slug, label }) => [`${fieldOf[group]} ${slug}`, label] as const);
