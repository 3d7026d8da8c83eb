// What the visitor has entered, and where it is kept until the tab is closed.
import type { Agreed } from "./consents";
import type { Quantities, Selections } from "./quote";
import { randomId, type Receipt } from "./service";

const nothing: Selections = { projectType: "", features: [], complexity: "", timeline: "" };
const emptyContact = { firstName: "", lastName: "", email: "", phone: "", company: "" };

export type Contact = typeof emptyContact;
export type Draft = ReturnType<typeof newDraft>;

export const newDraft = (contact: Contact = emptyContact) => ({
  session: randomId(),
  selections: nothing,
  quantities: {} as Quantities,
  contact,
  message: "",
  agreed: {} as Agreed,
});

/** An accepted request. */
export interface Sent {
  receipt: Receipt;
  draft: Draft;
}

/**
 * What a calculator keeps in sessionStorage, by the service and the element's id. The draft is the session's id, the
 * choices, the typed values (names, e-mail, phone, company, message) and the consents; it is deleted when the request is
 * accepted or the tab is closed; a browser that restores its tabs also restores it. The accepted request keeps the draft for
 * a correction. Before the submission, the service receives only the parts that `track` sends.
 */
export const store = (key: string) => ({
  draft: entry<Draft>(`siteapi-draft ${key}`),
  sent: entry<Sent>(`siteapi-sent ${key}`),
});

/** A value in sessionStorage. If the browser stores nothing for this site, a reload starts with an empty form. */
const entry = <T>(key: string) => ({
  read(): T | null {
    try {
      return JSON.parse(sessionStorage.getItem(key) ?? "null");
    } catch {
      return null;
    }
  },
  save(value: T | null) {
    try {
      if (value) sessionStorage.setItem(key, JSON.stringify(value));
      else sessionStorage.removeItem(key);
    } catch {
      // nothing can be kept
    }
  },
});

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
