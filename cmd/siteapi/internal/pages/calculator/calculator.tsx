// The page: its state (the visitor's input and the service's responses) and its markup.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Locale, SubmitQuoteInput } from "../generated/calculator.js";
import { readConsents, saveProgress, type Agreed } from "./consents.js";
import { phonesAt } from "./phones.js";
import { Choices, Contact, Phones, type Errors } from "./fields.js";
import { chosen, fieldOf, groups, moneyFormat, readOptions, sentEstimate, type Estimate, type Selections } from "./quote.js";
import { randomId, ServiceError, type newService, type Receipt, type Site } from "./service.js";
import { explainError, locales, words, type Words } from "./words.js";

type Service = ReturnType<typeof newService>;
const nothing: Selections = { projectType: "", features: [], complexity: "", timeline: "" };
/** The fields of a request that the form shows and can mark as invalid. */
const formFields = /^(contact|selections)\.|^message$/;
const mostMessage = 2000; // characters
const emptyContact = { firstName: "", lastName: "", email: "", phone: "", company: "" };

export function Calculator({ service }: { service: Service }) {
  const [locale, setLocale] = useLocale();
  const [site, retry, version] = useSite(service, locale);
  const [draft] = useState(readDraft);
  const [session, setSession] = useState(draft.session);
  const [selections, setSelections] = useState(draft.selections);
  const [contact, setContact] = useState(draft.contact);
  const [message, setMessage] = useState(draft.message);
  const [agreed, setAgreed] = useState(draft.agreed);
  const [website, setWebsite] = useState(""); // a honeypot: only bots fill in this invisible field
  const [state, setState] = useState<"choosing" | "sending" | "retrying" | "failed">("choosing");
  const [errors, setErrors] = useState<Errors>({});
  const [refusals, setRefusals] = useState(0); // number of times that the service rejected the form
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const correcting = useRef(false);

  const t = words[locale];
  const options = site ? readOptions(site.options, locale) : [];
  const consents = site ? readConsents(site.consents, agreed, locale) : [];
  const progress = consents.find(({ purpose }) => purpose === saveProgress);
  const picked = chosen(options, selections);
  const price = useEstimate(service, locale, selections, picked.length > 0, version);
  const amounts = rangeText(price.estimate, locale);
  const range = amounts || (selections.projectType && price.estimate ? t.toAgree : "");
  const money = moneyFormat(locale, price.estimate?.currency);
  const text = (value: string) => value || undefined; // empty fields are omitted

  useEffect(() => {
    if (receipt || !picked.length) return;
    const contactHints = { email: text(contact.email), firstName: text(contact.firstName) };
    const formData = progress?.given === false ? undefined : contactHints;
    const estimate = price.estimate?.currency ? sentEstimate(price.estimate) : undefined;
    const consents = progress && [progress];
    const attribution = readAttribution();
    service.track({ sessionId: session, locale, selections, estimate, formData, consents, attribution });
  }, [session, locale, selections, price.estimate, contact.email, contact.firstName, progress?.given]);

  // A reload restores the draft; an accepted request deletes it. A layout effect saves it before the next event, so that
  // a reload loses no keystroke.
  const draftNow = { session, selections, contact, message, agreed };
  useLayoutEffect(() => saveDraft(receipt ? null : draftNow), [receipt, ...Object.values(draftNow)]);

  // The first field with an error gets the focus, but only after the service rejected the form: clearing an error by
  // typing must not move the focus.
  useEffect(() => {
    const first = form.current?.querySelector<HTMLElement>("[aria-invalid=true]");
    (first?.querySelector("input") ?? first)?.focus();
  }, [refusals]);

  useEffect(() => {
    if (correcting.current) form.current?.querySelector<HTMLElement>("#email")?.focus();
    correcting.current = false;
  }, [receipt]);

  async function submit(event: Event) {
    event.preventDefault();
    if (state === "sending" || state === "retrying" || service.preview) return;
    setState("sending");
    const estimate = await price.latest();
    const input: SubmitQuoteInput = {
      sessionId: session,
      locale,
      contact: { ...contact, phone: text(contact.phone), company: text(contact.company) },
      selections: { ...selections, complexity: text(selections.complexity), timeline: text(selections.timeline) },
      estimate: { ...sentEstimate(estimate), revision: estimate?.revision },
      message: text(message),
      consents,
      attribution: readAttribution(),
      website: text(website),
    };
    try {
      setReceipt(await service.submit(input, () => setState("retrying")));
      setState("choosing");
      setErrors({});
    } catch (error) {
      const fields = error instanceof ServiceError ? error.fields : [];
      setState("failed");
      setRefusals((old) => old + 1);
      setErrors(Object.fromEntries(fields.map((error) => [error.field.replace(/\[\d+\]$/, ""), error])));
    }
  }

  /** Applies a change and clears the error of its field. */
  function change<T>(set: (change: (old: T) => T) => void, path: string, name: keyof T, value: T[keyof T]) {
    set((old) => ({ ...old, [name]: value }));
    setState((old) => (old === "failed" ? "choosing" : old));
    if (errors[path]) setErrors((old) => Object.fromEntries(Object.entries(old).filter(([field]) => field !== path)));
  }

  function changeMessage(value: string) {
    setMessage(value);
    setErrors(({ message: _, ...others }) => others);
  }

  /** Returns to the submitted form, at the e-mail address. Sending it again is a new request. */
  function correct() {
    correcting.current = true;
    setReceipt(null);
  }

  function restart() {
    setSession(randomId());
    setSelections(nothing);
    setMessage("");
    setAgreed({});
    setReceipt(null);
    scrollTo(0, 0);
  }

  if (!site) {
    return (
      <main class="waiting" aria-busy={site === undefined}>
        {site === null && <p role="alert">{t.unavailable}</p>}
        {site === null && <button onClick={retry}>{t.reload}</button>}
      </main>
    );
  }
  const hero = (site.hero[0]?.fields ?? {}) as { title?: string; subtitle?: string };
  const email = site.SiteSettings?.contactEmail;
  const logo = site.SiteSettings?.logo;
  const busy = state === "sending" || state === "retrying";
  const marked = Object.keys(errors).some((field) => formFields.test(field));
  // An error in a field that the form does not show is explained next to the button.
  const elsewhere = Object.entries(errors).filter(([field]) => !formFields.test(field)).slice(0, 1);
  const explain = (field: string) => errors[field] && explainError(locale, errors[field]);
  return (
    <>
      <header>
        {logo?.asset?.url && <img class="logo" src={logo.asset.url} alt={logo.alt ?? ""} />}
        <Languages locale={locale} onChange={setLocale} />
      </header>
      <main>
        <div class="hero">
          <p class="kicker">{t.title}</p>
          <h1>{hero.title ?? t.headline}</h1>
          <p>{hero.subtitle ?? t.intro}</p>
        </div>
        {receipt ? (
          <Accepted t={t} contact={contact} receipt={receipt} pdf={service.pdf(receipt, locale)} onCorrect={correct} onRestart={restart} />
        ) : (
          <form ref={form} onSubmit={submit} noValidate aria-busy={busy}>
            <div class="steps">
              <div class="choices">
                {groups.map((group) => {
                  const field = fieldOf[group];
                  const several = group === "feature";
                  return (
                    <Choices
                      key={group}
                      {...{ group, options, t, money, several, error: explain(`selections.${field}`) }}
                      required={group === "projectType"}
                      chosen={[selections[field]].flat()}
                      onChange={(slugs) => change(setSelections, `selections.${field}`, field, several ? slugs : slugs[0] ?? "")}
                    />
                  );
                })}
                {picked.length > 0 && (
                  <p class="bar" aria-hidden="true">
                    {t.range} <strong translate={!amounts}>{range}</strong>
                  </p>
                )}
              </div>
              <Contact
                {...{ t, contact, explain, website, onWebsite: setWebsite, message, mostMessage, onMessage: changeMessage }}
                {...{ consents, privacyUrl: site.SiteSettings?.privacyUrl }}
                onConsent={({ purpose, text }, given) => setAgreed((old) => ({ ...old, [purpose]: given ? text : undefined }))}
                onChange={(name, value) => change(setContact, `contact.${name}`, name, value)}
              />
            </div>
            <aside aria-label={t.range}>
              <h2>{t.range}</h2>
              <output class={range ? "range" : "range empty"} translate={!amounts}>
                {range || t.rangeEmpty}
              </output>
              <ul>
                {price.estimate?.lines.map(({ field, slug, label, amount }) => (
                  <li key={`${field} ${slug}`}>
                    <span>{label}</span>{" "}
                    <span translate={!amount}>{amount ? money.format(amount) : t.included}</span>
                  </li>
                ))}
                {price.estimate?.unpriced.map((slug) => (
                  <li key={`open ${slug}`}>
                    <span>{picked.find((option) => option.slug === slug)?.label ?? slug}</span> <span>{t.open}</span>
                  </li>
                ))}
              </ul>
              <p role="status">{price.failed && t.stale}</p>
              {service.preview && <p class="note">{t.preview}</p>}
              <button disabled={busy || service.preview}>{busy ? t.sending : t.submit}</button>
              <p class="note">{t.processing}</p>
              <p role="status">{state === "retrying" && t.retrying}</p>
              <p role="alert">
                {state === "failed" && (marked ? t.invalid : elsewhere.length ? "" : t.again)}
                {state === "failed" && elsewhere.map(([, error]) => error && ` ${explainError(locale, error)}`)}
              </p>
              <p class="note">{t.rangeNote}</p>
              <Phones title={t.call} locale={locale} phones={phonesAt(site.SiteSettings, "contact")} />
            </aside>
          </form>
        )}
      </main>
      <footer>
        <Phones locale={locale} phones={phonesAt(site.SiteSettings, "footer")} />
        {email && <a href={`mailto:${email}`}>{email}</a>}
      </footer>
    </>
  );
}

/** Formats the range of an estimate; empty if there is no price. */
function rangeText(estimate: Estimate | null, locale: Locale) {
  if (estimate?.min == null || !estimate.max) return "";
  return moneyFormat(locale, estimate.currency).formatRange(estimate.min, estimate.max);
}

function Languages({ locale, onChange }: { locale: Locale; onChange: (locale: Locale) => void }) {
  return (
    <nav aria-label={locales.map((other) => words[other].language).join(", ")}>
      {locales.map((other) => (
        <a
          href={addressIn(other)}
          lang={other}
          hreflang={other}
          aria-label={`${other.toUpperCase()} ${words[other].language}`}
          aria-current={other === locale ? "true" : undefined}
          onClick={(event) => {
            event.preventDefault();
            onChange(other);
          }}
        >
          {other.toUpperCase()}
        </a>
      ))}
    </nav>
  );
}

interface AcceptedProps {
  t: Words;
  contact: typeof emptyContact;
  receipt: Receipt;
  pdf: string;
  onCorrect: () => void;
  onRestart: () => void;
}

function Accepted({ t, contact, receipt, pdf, onCorrect, onRestart }: AcceptedProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section class="accepted" aria-labelledby="accepted">
      <h2 id="accepted" ref={heading} tabIndex={-1}>
        {t.thanks(contact.firstName)}
      </h2>
      <p>
        {t.accepted} <strong><bdi>{contact.email}</bdi></strong>
      </p>
      <p>
        <button class="quiet" onClick={onCorrect}>
          {t.correct}
        </button>
      </p>
      <p>{t.summary}</p>
      <p class="actions">
        <a class="button" href={pdf} download>
          {t.pdf}
        </a>
        <button class="quiet" onClick={onRestart}>
          {t.restart}
        </button>
      </p>
      <p class="note">
        {t.reference}: <code>{receipt.submissionId.slice(0, 8).toUpperCase()}</code>
      </p>
    </section>
  );
}

/** The language: from the URL, else the first of the browser's languages that the site supports. A change updates the URL. */
function useLocale() {
  const [locale, setLocale] = useState<Locale>(() => {
    const wanted = [new URLSearchParams(location.search).get("lang"), ...navigator.languages.map((tag) => tag.slice(0, 2))];
    return locales.find((known) => known === wanted.find((tag) => locales.some((other) => other === tag))) ?? "en";
  });
  useEffect(() => {
    document.documentElement.lang = locale;
    document.title = words[locale].title;
  }, [locale]);
  const change = (next: Locale) => {
    history.replaceState(null, "", addressIn(next));
    setLocale(next);
  };
  return [locale, change] as const;
}

/** The site's content in a language: undefined while it is loading, null if it is unavailable. */
function useSite(service: Service, locale: Locale) {
  const [site, setSite] = useState<Site | null>();
  const [tried, setTried] = useState(0);
  useEffect(() => {
    let current = true;
    service.read(locale).then(
      (answer) => current && setSite(answer),
      () => current && setSite((old) => old ?? null), // keep the previous content
    );
    return () => void (current = false);
  }, [locale, tried]);
  const again = () => setTried((n) => n + 1);
  useEffect(() => service.follow(again), []);
  return [site, again, tried] as const;
}

/** The price of the choices. The last one stays while the next one is loading, and if that fails. */
function useEstimate(service: Service, locale: Locale, selections: Selections, some: boolean, version: number) {
  const [estimate, setEstimate] = useState<Estimate | null>(null);
  const [failed, setFailed] = useState(false);
  const asked = useRef<Promise<Estimate | null>>(Promise.resolve(null));
  useEffect(() => {
    let current = true;
    asked.current = some ? service.estimate(selections, locale) : Promise.resolve(null);
    asked.current.then(
      (answer) => {
        if (!current) return;
        setEstimate(answer);
        setFailed(false);
      },
      () => current && setFailed(true),
    );
    return () => void (current = false);
  }, [locale, selections, some, version]);
  /** Returns the price of the current choices, or the displayed one if the request fails. */
  const latest = () => asked.current.catch(() => estimate);
  return { estimate, failed, latest };
}

/** Returns the page's URL in a language. It keeps the other parameters, such as the visitor's attribution. */
function addressIn(locale: Locale) {
  const query = new URLSearchParams(location.search);
  query.set("lang", locale);
  return `?${query}${location.hash}`;
}

/**
 * The draft is stored in sessionStorage: the session's id, the choices, the typed values (names, e-mail, phone, company,
 * message) and the consents. It is deleted when the request is accepted or the tab is closed; a browser that restores its
 * tabs also restores the draft. Before the submission, the service receives only the parts that `track` sends.
 */
const draftKey = "quote-draft";
const newDraft = () => ({ session: randomId(), selections: nothing, contact: emptyContact, message: "", agreed: {} as Agreed });

/** Reads the visitor's attribution from the URL of the page and the referrer. */
function readAttribution() {
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

type Draft = ReturnType<typeof newDraft>;

function saveDraft(draft: Draft | null) {
  try {
    if (draft) sessionStorage.setItem(draftKey, JSON.stringify(draft));
    else sessionStorage.removeItem(draftKey);
  } catch {
    // If the browser stores nothing for this site, a reload starts with an empty form.
  }
}

function readDraft(): Draft {
  try {
    return { ...newDraft(), ...JSON.parse(sessionStorage.getItem(draftKey) ?? "{}") };
  } catch {
    return newDraft();
  }
}
