// The language of the page: the browser's, or the one that was chosen, which localStorage keeps.
import { useEffect, useState } from "preact/hooks";
import type { Locale } from "../generated/inbox";
import { en, type Forms, type Words } from "./words/en";
import { es } from "./words/es";
import { ro } from "./words/ro";

const storageKey = "siteapi-inbox-language";
const tables: Record<Locale, Words> = { en, es, ro };

/** The languages that can be chosen, each by its own name. */
export const ownNames: Record<Locale, string> = { en: "English", es: "Español", ro: "Română" };

/** The language of the page, and its words. Both change when another one is chosen. */
export let language = firstLanguage();
export let words = tables[language];
document.documentElement.lang = language;

let changed: () => void = () => {};

function firstLanguage(): Locale {
  const wanted = [localStorage.getItem(storageKey) ?? "", ...navigator.languages];
  const codes = wanted.map((tag) => tag.slice(0, 2).toLowerCase());
  return codes.map((code) => known(tables, code)).find((code) => code !== null) ?? "en";
}

/** Changes the language of the page and of its later visits. */
export function chooseLanguage(next: Locale) {
  localStorage.setItem(storageKey, next);
  language = next;
  words = tables[next];
  document.documentElement.lang = next;
  changed();
}

/** Renders a component, and all below it, whenever another language is chosen. */
export function useLanguage(): Locale {
  const [shown, show] = useState(language);
  useEffect(() => {
    changed = () => show(language);
  }, []);
  return shown;
}

/** The language and the region that numbers and dates follow: the browser's region, if it speaks the language. */
export const region = () =>
  navigator.languages.find((tag) => tag.toLowerCase().startsWith(`${language}-`)) ??
  { en: "en-GB", es: "es-ES", ro: "ro-RO" }[language];

/** A sentence that the service wrote in English, in the language of the page if it is known. */
export const said = (text: string) => (words.said as Record<string, string>)[text] ?? text;

/** The form of a noun that follows a number. */
export const formFor = (n: number, forms: Forms) => {
  const category = new Intl.PluralRules(language).select(n);
  return (category === "one" || category === "few" ? forms[category] : undefined) ?? forms.other;
};

/** A value from the address of the page if it is one that can be chosen. */
export function known<K extends string>(choices: Record<K, unknown>, value: string | undefined): K | null {
  return value && Object.hasOwn(choices, value) ? (value as K) : null;
}
