// The form: the choices, the visitor's data, and the estimate next to them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Locale, SubmitQuoteInput } from "../generated/calculator";
import { readConsents, saveProgress, type Consent } from "./consents";
import { readAttribution, type Draft } from "./draft";
import { Lines, rangeText, useEstimate } from "./estimate";
import { Choices, Contact, Phones, Privacy, type Errors } from "./fields";
import { announce, challengeToken, renewChallenge } from "./host";
import { phonesAt } from "./phones";
import { chosen, fieldOf, groups, measured, moneyFormat, readOptions, quantityField, sentEstimate, unreadable, type Estimate, type Option } from "./quote";
import { reference, ServiceError, type Receipt, type Service, type Site } from "./service";
import { explainError, words, type Words } from "./words";

/** The fields of a request that the form shows and can mark as invalid. */
const formFields = /^(contact|selections)\.|^message$/;
const text = (value: string) => value || undefined; // empty fields are omitted

interface Props {
  host: HTMLElement;
  service: Service;
  locale: Locale;
  site: Site;
  /** The number of times that the site was read: an edited price is requested anew. */
  version: number;
  draft: Draft;
  update: (change: (old: Draft) => Draft) => void;
  /** Whether the visitor returned to correct the address. */
  correcting: boolean;
  onAccepted: (receipt: Receipt) => void;
}

export function QuoteForm({ host, service, locale, site, version, draft, update, correcting, onAccepted }: Props) {
  const t = words[locale];
  const { selections, quantities, contact, message } = draft;
  const options = useMemo(() => readOptions(site.options), [site]);
  const sent = useMemo(() => measured(options, selections, quantities, locale), [options, selections, quantities, locale]);
  const consents = readConsents(site.consents, draft.agreed, locale);
  const picked = chosen(options, selections);
  const price = useEstimate(service, locale, sent, picked.length > 0, version);
  const amounts = rangeText(price.estimate, locale);
  const range = amounts || (selections.projectType && price.estimate ? t.toAgree : "");
  const money = moneyFormat(locale, options[0]?.currency);
  const { tax, taxNote } = price.estimate ?? {};
  const notes = [taxNote, amounts && (tax || taxNote ? t.rangeNoteTaxed : t.rangeNote)].filter(Boolean);
  const [website, setWebsite] = useState(""); // a honeypot: only bots fill in this invisible field
  const sending = useSending(host, service, onAccepted);
  useTracking(service, locale, draft, options, sent, price.estimate, consents, picked.length > 0);
  useEffect(() => void (price.estimate && announce(host, "siteapi-estimate", price.estimate)), [price.estimate]);

  const form = useRef<HTMLFormElement>(null);
  useFocus(form, sending.refusals, correcting);

  async function submit(event: Event) {
    event.preventDefault();
    if (sending.busy || service.preview) return;
    sending.send(async () => {
      const wrong = unreadable(options, selections, quantities, locale);
      if (wrong.length) throw new ServiceError("BAD_USER_INPUT", wrong);
      return {
        ...requestOf(locale, draft, options, sent, await price.latest(), consents, website),
        challengeToken: challengeToken(host),
      };
    });
  }

  /** Applies a change and clears the error of its field. */
  function change(path: string, next: (old: Draft) => Draft) {
    update(next);
    sending.clear(path);
  }

  const explain = (field: string) => sending.errors[field] && explainError(locale, sending.errors[field]);
  return (
    <form ref={form} onSubmit={submit} noValidate aria-busy={sending.busy}>
      <div class="steps">
        <div class="choices">
          {groups.map((group) => {
            const field = fieldOf[group];
            const several = group === "feature";
            const choose = (slugs: string[]) => ({ [field]: several ? slugs : slugs[0] ?? "" });
            return (
              <Choices
                key={group}
                {...{ group, options, t, money, several, error: explain(`selections.${field}`) }}
                {...{ locale, quantities, explain, estimate: price.estimate }}
                onQuantity={(slug, typed) =>
                  change(quantityField(slug), (old) => ({ ...old, quantities: { ...old.quantities, [slug]: typed } }))
                }
                required={group === "projectType"}
                chosen={[selections[field]].flat()}
                onChange={(slugs) =>
                  change(`selections.${field}`, (old) => ({ ...old, selections: { ...old.selections, ...choose(slugs) } }))
                }
              />
            );
          })}
          {picked.length > 0 && (
            <p class="bar" part="panel" aria-hidden="true">
              {t.range} <strong translate={!amounts}>{range}</strong>
            </p>
          )}
        </div>
        <Contact
          {...{ t, contact, explain, website, onWebsite: setWebsite, message }}
          onMessage={(value) => change("message", (old) => ({ ...old, message: value }))}
          onChange={(name, value) =>
            change(`contact.${name}`, (old) => ({ ...old, contact: { ...old.contact, [name]: value } }))
          }
        >
          <Privacy
            {...{ t, consents, url: site.SiteSettings?.privacyUrl }}
            onConsent={({ purpose, text }, given) =>
              update((old) => ({ ...old, agreed: { ...old.agreed, [purpose]: given ? text : undefined } }))
            }
          />
        </Contact>
      </div>
      <aside part="panel" aria-label={t.range}>
        <h2>{t.range}</h2>
        <output class={range ? "range" : "range empty"} translate={!amounts}>
          {range || t.rangeEmpty}
        </output>
        <Lines {...{ estimate: price.estimate, picked, locale, t }} />
        <p role="status">{price.failed && t.stale}</p>
        {service.preview && <p class="note">{t.preview}</p>}
        <slot />
        <Send {...{ sending, locale, t }} preview={service.preview} />
        {notes.length > 0 && <p class="note">{notes.join(" ")}</p>}
        <Phones title={t.call} locale={locale} phones={phonesAt(site.SiteSettings, "contact")} />
      </aside>
    </form>
  );
}

interface SendProps {
  sending: Sending;
  locale: Locale;
  t: Words;
  preview: boolean;
}

/** The button that sends the form, and what became of it. */
function Send({ sending: { state, busy, errors }, locale, t, preview }: SendProps) {
  const marked = Object.keys(errors).some((field) => formFields.test(field));
  // An error in a field that the form does not show is explained next to the button.
  const elsewhere = Object.entries(errors).filter(([field]) => !formFields.test(field)).slice(0, 1);
  return (
    <>
      <button part="button" disabled={busy || preview}>{busy ? t.sending : t.submit}</button>
      <p class="note">{t.processing}</p>
      <p role="status">{state === "retrying" && t.retrying}</p>
      <p role="alert">
        {state === "failed" && (marked ? t.invalid : elsewhere.length ? "" : t.again)}
        {state === "failed" && elsewhere.map(([, error]) => error && ` ${explainError(locale, error)}`)}
      </p>
    </>
  );
}

type Sending = ReturnType<typeof useSending>;

/** Sends requests, and keeps the errors of the fields until they are corrected. */
function useSending(host: HTMLElement, service: Service, onAccepted: (receipt: Receipt) => void) {
  const [state, setState] = useState<"choosing" | "sending" | "retrying" | "failed">("choosing");
  const [errors, setErrors] = useState<Errors>({});
  const [refusals, setRefusals] = useState(0); // number of times that the service rejected the form

  async function send(prepare: () => Promise<SubmitQuoteInput>) {
    setState("sending");
    try {
      const request = await prepare();
      const receipt = await service.submit(request, () => setState("retrying"));
      onAccepted(receipt);
      announce(host, "siteapi-submitted", {
        id: receipt.submissionId,
        reference: reference(receipt),
        estimate: request.estimate,
      });
    } catch (error) {
      const fields = error instanceof ServiceError ? error.fields : [];
      renewChallenge(host);
      setState("failed");
      setRefusals((old) => old + 1);
      setErrors(Object.fromEntries(fields.map((error) => [error.field.replace(/\[\d+\]$/, ""), error])));
    }
  }

  function clear(path: string) {
    setState((old) => (old === "failed" ? "choosing" : old));
    setErrors((old) => (old[path] ? Object.fromEntries(Object.entries(old).filter(([field]) => field !== path)) : old));
  }

  return { state, busy: state === "sending" || state === "retrying", errors, refusals, send, clear };
}

/** Returns the request for a quote. */
const requestOf = (
  locale: Locale,
  { session, contact, message }: Draft,
  options: Option[],
  selections: ReturnType<typeof measured>,
  estimate: Estimate | null,
  consents: Consent[],
  website: string,
): SubmitQuoteInput => ({
  sessionId: session,
  locale,
  contact: { ...contact, phone: text(contact.phone), company: text(contact.company) },
  selections: { ...selections, complexity: text(selections.complexity), timeline: text(selections.timeline) },
  estimate: { ...sentEstimate(estimate, options), revision: estimate?.revision },
  message: text(message),
  consents,
  attribution: readAttribution(),
  website: text(website),
});

/**
 * Tracks the choices and, unless the visitor declined, the first name and the e-mail. Tracking begins with the first choice.
 * What is taken back later is tracked as well, also if no choice is left.
 */
function useTracking(
  service: Service,
  locale: Locale,
  { session, contact }: Draft,
  options: Option[],
  selections: ReturnType<typeof measured>,
  price: Estimate | null,
  consents: Consent[],
  some: boolean,
) {
  const progress = consents.find(({ purpose }) => purpose === saveProgress);
  const tracked = useRef("");
  useEffect(() => {
    if (!some && tracked.current !== session) return;
    tracked.current = session;
    const contactHints = { email: text(contact.email), firstName: text(contact.firstName) };
    const formData = progress?.given === false ? undefined : contactHints;
    const estimate = price?.currency ? sentEstimate(price, options) : undefined;
    const consents = progress && [progress];
    const attribution = readAttribution();
    service.track({ sessionId: session, locale, selections, estimate, formData, consents, attribution });
  }, [session, locale, selections, price, contact.email, contact.firstName, progress?.given]);
}

/**
 * Moves the focus to the first field with an error, but only after the service rejected the form: clearing an error by
 * typing must not move the focus. A visitor who returned to correct the address finds it there.
 */
function useFocus(form: { current: HTMLFormElement | null }, refusals: number, correcting: boolean) {
  useEffect(() => {
    const first = form.current?.querySelector<HTMLElement>("[aria-invalid=true][aria-describedby*='.error']");
    (first?.querySelector("input") ?? first)?.focus();
  }, [refusals]);
  useEffect(() => {
    if (correcting) form.current?.querySelector<HTMLElement>("#email")?.focus();
  }, []);
}
