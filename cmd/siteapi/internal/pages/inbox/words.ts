// The language of the page: the browser's, or the chosen one, which is stored in localStorage.
import { useEffect, useState } from "preact/hooks";
import type { Locale } from "../generated/inbox";
import { en, type Forms, type Words } from "./words/en";
import { es } from "./words/es";
import { ro } from "./words/ro";

const storageKey = "siteapi-inbox-language";
const tables: Record<Locale, Words> = { en, es, ro };

/** The available languages with their own names. */
export const ownNames: Record<Locale, string> = { en: "English", es: "Español", ro: "Română" };

/** The language of the page, and its words. Choosing a language changes both. */
export let language = firstLanguage();
export let words = tables[language];
document.documentElement.lang = language;

let changed: () => void = () => {};

function firstLanguage(): Locale {
  const wanted = [localStorage.getItem(storageKey) ?? "", ...navigator.languages];
  const codes = wanted.map((tag) => tag.slice(0, 2).toLowerCase());
  return codes.map((code) => known(tables, code)).find((code) => code !== null) ?? "en";
}

/** Changes the language of the page, also for later visits. */
export function chooseLanguage(next: Locale) {
  localStorage.setItem(storageKey, next);
  language = next;
  words = tables[next];
  document.documentElement.lang = next;
  changed();
}

/** Renders a component and its children again whenever the language changes. */
export function useLanguage(): Locale {
  const [shown, show] = useState(language);
  useEffect(() => {
    changed = () => show(language);
  }, []);
  return shown;
}

/** The locale for numbers and dates: the browser's locale of the language, else a default one. */
export const region = () =>
  navigator.languages.find((tag) => tag.toLowerCase().startsWith(`${language}-`)) ??
  { en: "en-GB", es: "es-ES", ro: "ro-RO" }[language];

/** Translates an English sentence of the service to the language of the page. An unknown sentence is returned unchanged. */
export function translate(text: string): string {
  const sentences = words.sentences as Record<string, string>;
  const names = text.lastIndexOf(": "); // some sentences end with names
  const sentence = sentences[text.slice(0, names)];
  return sentences[text] ?? (sentence ? sentence + text.slice(names) : text);
}

/** Returns the form of a noun after a number. */
export const formFor = (n: number, forms: Forms) => {
  const category = new Intl.PluralRules(language).select(n);
  return category === "one" || category === "few" ? forms[category] : forms.other;
};

/** Returns a value from the URL of the page if it is a valid choice, else null. */
export function known<K extends string>(choices: Record<K, unknown>, value: string | undefined): K | null {
  return value && Object.hasOwn(choices, value) ? (value as K) : null;
}
