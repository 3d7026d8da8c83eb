// What visitors are asked to agree to. The wording is the CMS's, and the service compares it with what is sent.
import type { ConsentInput, ConsentTextsQuery } from "../generated/calculator.js";

/** The purpose without which the first name and the e-mail are not tracked, where the site asks for it. */
export const saveProgress = "save_progress";

/** The wordings that a visitor ticked, by purpose. Another wording, such as of another language, is another question. */
export type Agreed = Partial<Record<string, string>>;

/** A question and the visitor's answer. */
export type Consent = ConsentInput & { text: string };

const mostConsents = 3; // that the service takes with a lead
const mostText = 1000; // characters
const control = /[^\P{Cc}\t\r\n]/u;
const slug = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;

/** Returns the answers to what the site asks. A document that the service would refuse must not stop a lead: it is left out. */
export function readConsents(documents: ConsentTextsQuery["consents"], agreed: Agreed): Consent[] {
  const byPurpose = new Map<string, Consent>();
  for (const { fields } of documents) {
    const { purpose, text } = fields as { purpose?: unknown; text?: unknown };
    if (typeof purpose !== "string" || typeof text !== "string") continue;
    if (!slug.test(purpose) || purpose.length > 64) continue;
    if (!text.trim() || [...text].length > mostText || control.test(text)) continue;
    if (!byPurpose.has(purpose)) byPurpose.set(purpose, { purpose, text, given: agreed[purpose] === text });
  }
  const later = ({ purpose }: Consent) => Number(purpose !== saveProgress); // it follows the sentence on what is saved
  return [...byPurpose.values()].sort((a, b) => later(a) - later(b)).slice(0, mostConsents);
}
