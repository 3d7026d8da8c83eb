// Texts that the CMS has in several languages. The service reads the same forms.
import type { Locale } from "../generated/calculator";

const fallback: Locale = "en";

/**
 * Returns the text of a localized value in a language, or else in English: of an object by language, of an array of
 * Sanity's plugin internationalized-array, or a plain text.
 */
export function textIn(value: unknown, locale: Locale): string | undefined {
  if (typeof value === "string") return value;
  const entries = Array.isArray(value)
    ? value.map((item) => [item?.language ?? item?._key, item?.value])
    : Object.entries(value ?? {});
  const find = (language: Locale) =>
    entries.find(([tag, text]) => typeof text === "string" && text.trim() && languageOf(tag) === language)?.[1];
  return find(locale) ?? find(fallback);
}

/** Returns the language of a tag: "es" of "es-ES". */
const languageOf = (tag: unknown) => String(tag).split(/[-_]/)[0]?.toLowerCase();
