// The page: its state, which is the visitor's input and the service's answers, and its markup.
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
/** The fields of a request that the form shows, so that an error can be marked there. */
const placed = /^(contact|selections)\.|^message$/;
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
  const [website, setWebsite] = useState(""); // no visitor sees this field, so only robots fill it in
  const [state, setState] = useState<"choosing" | "sending" | "retrying" | "failed">("choosing");
  const [errors, setErrors] = useState<Errors>({});
  const [refusals, setRefusals] = useState(0); // how often the service refused the form
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const correcting = useRef(false);

  const say = words[locale];
  const options = site ? readOptions(site.options, locale) : [];
  const consents = site ? readConsents(site.consents, agreed) : [];
  const progress = consents.find(({ purpose }) => purpose === saveProgress);
  const picked = chosen(options, selections);
  const price = useEstimate(service, locale, selections, picked.length > 0, version);
  const range = rangeText(price.estimate, locale) || (selections.projectType && price.estimate ? say.toAgree : "");
  const money = moneyFormat(locale, price.estimate?.currency);
  const text = (value: string) => value || undefined; // what is empty is left out

  useEffect(() => {
    if (receipt || !picked.length) return;
    const contactHints = { email: text(contact.email), firstName: text(contact.firstName) };
    const formData = progress?.given === false ? undefined : contactHints;
    const estimate = price.estimate?.currency ? sentEstimate(price.estimate) : undefined;
    const asked = progress && [progress];
    const attribution = cameFrom();
    service.track({ sessionId: session, locale, selections, estimate, formData, consents: asked, attribution });
  }, [session, locale, selections, price.estimate, contact.email, contact.firstName, progress?.given]);

  // A reload goes on where the visitor was; an accepted request ends the draft. It is kept before the next event, not
  // after the next picture, so that a reload in between loses no keystroke.
  const draftNow = { session, selections, contact, message, agreed };
  useLayoutEffect(() => keepDraft(receipt ? null : draftNow), [receipt, ...Object.values(draftNow)]);

  // After a refusal, and only then, the first field with an error gets the focus: an error that is cleared by typing
  // must not move it.
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
      attribution: cameFrom(),
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

  /** Returns to the form as it was sent, at the address. What is sent from there is another request. */
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
        {site === null && <p role="alert">{say.unavailable}</p>}
        {site === null && <button onClick={retry}>{say.reload}</button>}
      </main>
    );
  }
  const hero = (site.hero[0]?.fields ?? {}) as { title?: string; subtitle?: string };
  const email = site.SiteSettings?.contactEmail;
  const logo = site.SiteSettings?.logo;
  const busy = state === "sending" || state === "retrying";
  const marked = Object.keys(errors).some((field) => placed.test(field));
  // A field that the form doesn't show is explained where the visitor looks for the reason.
  const elsewhere = Object.entries(errors).filter(([field]) => !placed.test(field)).slice(0, 1);
  const explain = (field: string) => errors[field] && explainError(locale, errors[field]);
  return (
    <>
      <header>
        {logo?.asset?.url && <img class="logo" src={logo.asset.url} alt={logo.alt ?? ""} />}
        <Languages locale={locale} onChange={setLocale} />
      </header>
      <main>
        <div class="hero">
          <p class="kicker">{say.title}</p>
          <h1>{hero.title ?? say.headline}</h1>
          <p>{hero.subtitle ?? say.intro}</p>
        </div>
        {receipt ? (
          <Accepted say={say} contact={contact} receipt={receipt} pdf={service.pdf(receipt, locale)} onCorrect={correct} onRestart={restart} />
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
                      {...{ group, options, say, money, several, error: explain(`selections.${field}`) }}
                      required={group === "projectType"}
                      chosen={[selections[field]].flat()}
                      onChange={(slugs) => change(setSelections, `selections.${field}`, field, several ? slugs : slugs[0] ?? "")}
                    />
                  );
                })}
                {picked.length > 0 && (
                  <p class="bar" aria-hidden="true">
                    {say.range} <strong>{range}</strong>
                  </p>
                )}
              </div>
              <Contact
                {...{ say, contact, explain, website, onWebsite: setWebsite, message, mostMessage, onMessage: changeMessage }}
                {...{ consents, privacyUrl: site.SiteSettings?.privacyUrl }}
                onConsent={({ purpose, text }, given) => setAgreed((old) => ({ ...old, [purpose]: given ? text : undefined }))}
                onChange={(name, value) => change(setContact, `contact.${name}`, name, value)}
              />
            </div>
            <aside aria-label={say.range}>
              <h2>{say.range}</h2>
              <output class={range ? "range" : "range empty"}>{range || say.rangeEmpty}</output>
              <ul>
                {price.estimate?.lines.map(({ field, slug, label, amount }) => (
                  <li key={`${field} ${slug}`}>
                    <span>{label}</span> <span>{amount ? money.format(amount) : say.included}</span>
                  </li>
                ))}
                {price.estimate?.unpriced.map((slug) => (
                  <li key={`open ${slug}`}>
                    <span>{picked.find((option) => option.slug === slug)?.label ?? slug}</span> <span>{say.open}</span>
                  </li>
                ))}
              </ul>
              <p role="status">{price.failed && say.stale}</p>
              {service.preview && <p class="note">{say.preview}</p>}
              <button disabled={busy || service.preview}>{busy ? say.sending : say.submit}</button>
              <p class="note">{say.processing}</p>
              <p role="status">{state === "retrying" && say.retrying}</p>
              <p role="alert">
                {state === "failed" && (marked ? say.invalid : elsewhere.length ? "" : say.again)}
                {state === "failed" && elsewhere.map(([, error]) => error && ` ${explainError(locale, error)}`)}
              </p>
              <p class="note">{say.rangeNote}</p>
              <Phones title={say.call} locale={locale} phones={phonesAt(site.SiteSettings, "contact")} />
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

/** An estimate's range in words; empty where there is no price. */
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
  say: Words;
  contact: typeof emptyContact;
  receipt: Receipt;
  pdf: string;
  onCorrect: () => void;
  onRestart: () => void;
}

function Accepted({ say, contact, receipt, pdf, onCorrect, onRestart }: AcceptedProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section class="accepted" aria-labelledby="accepted">
      <h2 id="accepted" ref={heading} tabIndex={-1}>
        {say.thanks(contact.firstName)}
      </h2>
      <p>
        {say.accepted} <strong><bdi>{contact.email}</bdi></strong>
      </p>
      <p>
        <button class="quiet" onClick={onCorrect}>
          {say.correct}
        </button>
      </p>
      <p>{say.summary}</p>
      <p class="actions">
        <a class="button" href={pdf} download>
          {say.pdf}
        </a>
        <button class="quiet" onClick={onRestart}>
          {say.restart}
        </button>
      </p>
      <p class="note">
        {say.reference}: <code>{receipt.submissionId.slice(0, 8).toUpperCase()}</code>
      </p>
    </section>
  );
}

/** The language: that of the address, else the first of the browser's that the site has. A change goes into the address. */
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

/** The site's content in a language: undefined until it is there, null if it can't be had. */
function useSite(service: Service, locale: Locale) {
  const [site, setSite] = useState<Site | null>();
  const [tried, setTried] = useState(0);
  useEffect(() => {
    let current = true;
    service.read(locale).then(
      (answer) => current && setSite(answer),
      () => current && setSite((old) => old ?? null), // keep the content that was read before
    );
    return () => void (current = false);
  }, [locale, tried]);
  const again = () => setTried((n) => n + 1);
  useEffect(() => service.follow(again), []);
  return [site, again, tried] as const;
}

/** The price of what is chosen. The last one stays while the next is on its way, and where that fails. */
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
  /** The price of what is chosen now, or the one that is shown if that can't be had. */
  const latest = () => asked.current.catch(() => estimate);
  return { estimate, failed, latest };
}

/** Returns the page's address in a language. The rest of its query stays, such as where the visitor came from. */
function addressIn(locale: Locale) {
  const query = new URLSearchParams(location.search);
  query.set("lang", locale);
  return `?${query}${location.hash}`;
}

/**
 * The draft is what sessionStorage keeps in the browser: the session's id, the choices, and what was typed and ticked
 * (names, e-mail, phone, company, message, consents). It stays until the request is accepted or the tab is closed; a
 * browser that restores its tabs restores it, too. What the service gets of it before that is what `track` sends.
 */
const draftKey = "quote-draft";
const newDraft = () => ({ session: randomId(), selections: nothing, contact: emptyContact, message: "", agreed: {} as Agreed });

/** Where the visitor came from: the address of the page says it, and the browser which page linked to it. */
function cameFrom() {
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

function keepDraft(draft: Draft | null) {
  try {
    if (draft) sessionStorage.setItem(draftKey, JSON.stringify(draft));
    else sessionStorage.removeItem(draftKey);
  } catch {
    // A browser that stores nothing for this site starts anew after a reload.
  }
}

function readDraft(): Draft {
  try {
    return { ...newDraft(), ...JSON.parse(sessionStorage.getItem(draftKey) ?? "{}") };
  } catch {
    return newDraft();
  }
}
