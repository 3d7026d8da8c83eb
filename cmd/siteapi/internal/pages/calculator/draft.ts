// What the visitor has entered, and where it is kept until the tab is closed.
import type { Agreed } from "./consents.js";
import type { Selections } from "./quote.js";
import { randomId, type Receipt } from "./service.js";

const nothing: Selections = { projectType: "", features: [], complexity: "", timeline: "" };
const emptyContact = { firstName: "", lastName: "", email: "", phone: "", company: "" };

export type Contact = typeof emptyContact;
export type Draft = ReturnType<typeof newDraft>;

export const newDraft = (contact: Contact = emptyContact) => ({
  session: randomId(),
  selections: nothing,
  contact,
  message: "",
  agreed: {} as Agreed,
});

/** An accepted request. It is stored with its entry of the browser's history, which a reload keeps. */
export interface Sent {
  receipt: Receipt;
  draft: Draft;
}

export const readSent = (): Sent | null => (history.state?.receipt ? history.state : null);

/**
 * The draft is stored in sessionStorage: the session's id, the choices, the typed values (names, e-mail, phone, company,
 * message) and the consents. It is deleted when the request is accepted or the tab is closed; a browser that restores its
 * tabs also restores the draft. Before the submission, the service receives only the parts that `track` sends.
 */
const draftKey = "quote-draft";

export function saveDraft(draft: Draft | null) {
  try {
    if (draft) sessionStorage.setItem(draftKey, JSON.stringify(draft));
    else sessionStorage.removeItem(draftKey);
  } catch {
    // If the browser stores nothing for this site, a reload starts with an empty form.
  }
}

export function readDraft(): Draft {
  try {
    return { ...newDraft(), ...readSent()?.draft, ...JSON.parse(sessionStorage.getItem(draftKey) ?? "{}") };
  } catch {
    return newDraft();
  }
}

/** Reads the visitor's attribution from the URL of the page and the referrer. */
export function readAttribution() {
  const query = new URLSearchParams(location.search);
  const utm = (name: string) => query.get(`utm_${name}`) || undefined;
  return {
    source: utm("source"),
    medium: utm("medium"),
    campaign: utm("campaign"),
    term: utm("term"),
    content: utm("content"),
    referrer: document.referrer && !document.referrer.startsWith(location.origin) ? document.referrer : undefined,
    landingPage: location.origin + location.pathname,
  };
}
