// The site's requests for consent. The wording comes from the CMS, and the service compares it with the submitted text.
import type { ConsentInput, ConsentTextsQuery, Locale } from "../generated/calculator";
import { textIn } from "./localized";

/** The purpose of the consent to tracking the first name and the e-mail, if the site asks for it. */
export const saveProgress = "save_progress";

/** The wordings that a visitor agreed to, by purpose. Another wording, or another language, needs another answer. */
export type Agreed = Partial<Record<string, string>>;

/** A request for consent and the visitor's answer. */
export type Consent = ConsentInput & { text: string };

const maxConsents = 3; // the service's limit for a lead
const maxText = 1000; // characters
const control = /[^\P{Cc}\t\r\n]/u;
const slug = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;

/** Returns the answers to the site's requests. Documents that the service would reject are skipped: they stop no lead. */
export function readConsents(documents: ConsentTextsQuery["consents"], agreed: Agreed, locale: Locale): Consent[] {
  const byPurpose = new Map<string, Consent>();
  for (const { fields } of documents) {
    const { purpose, text: wording } = fields as { purpose?: unknown; text?: unknown };
    const text = textIn(wording, locale);
    if (typeof purpose !== "string" || !text) continue;
    if (!slug.test(purpose) || purpose.length > 64) continue;
    if (!text.trim() || [...text].length > maxText || control.test(text)) continue;
    if (!byPurpose.has(purpose)) byPurpose.set(purpose, { purpose, text, given: agreed[purpose] === text });
  }
  const later = ({ purpose }: Consent) => Number(purpose !== saveProgress); // saveProgress follows the note on saved data
  return [...byPurpose.values()].sort((a, b) => later(a) - later(b)).slice(0, maxConsents);
}
