// The page: its language, the site's content, and the form or what follows it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Locale } from "../generated/calculator.js";
import { Accepted } from "./accepted.js";
import { newDraft, readDraft, readSent, saveDraft, type Sent } from "./draft.js";
import { Phones } from "./fields.js";
import { QuoteForm } from "./form.js";
import { phonesAt } from "./phones.js";
import type { Service, Site } from "./service.js";
import { locales, words } from "./words.js";

export function Calculator({ service }: { service: Service }) {
  const [locale, setLocale] = useLocale();
  const [site, retry, version] = useSite(service, locale);
  const [draft, setDraft] = useState(readDraft);
  const [sent, show] = useSent();
  const correcting = useRef(false);

  // A reload restores the draft; an accepted request deletes it. A layout effect saves it before the next event, so that
  // a reload loses no keystroke.
  useLayoutEffect(() => saveDraft(sent ? null : draft), [sent, draft]);

  /** Returns to the submitted form, at the e-mail address. Sending it again is a new request. */
  function correct() {
    correcting.current = true;
    if (sent) setDraft(sent.draft);
    show(null);
  }

  function restart() {
    correcting.current = false;
    setDraft(({ contact }) => newDraft(contact));
    show(null);
    scrollTo(0, 0);
  }

  const t = words[locale];
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
        {sent ? (
          <Accepted {...{ sent, service, locale }} onCorrect={correct} onRestart={restart} />
        ) : (
          <QuoteForm
            {...{ service, locale, site, version, draft, update: setDraft, correcting: correcting.current }}
            onAccepted={(receipt) => show({ receipt, draft })}
          />
        )}
      </main>
      <footer>
        <Phones locale={locale} phones={phonesAt(site.SiteSettings, "footer")} />
        {email && <a href={`mailto:${email}`}>{email}</a>}
      </footer>
    </>
  );
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
    history.replaceState(history.state, "", addressIn(next));
    setLocale(next);
  };
  return [locale, change] as const;
}

/**
 * The accepted request. It has an address of its own, so that Back leads to the form, and a reload or a visit to the
 * quote's page keeps the reference.
 */
function useSent() {
  const [sent, setSent] = useState(readSent);
  useEffect(() => {
    const update = () => setSent(readSent());
    addEventListener("popstate", update);
    return () => removeEventListener("popstate", update);
  }, []);
  const show = (next: Sent | null) => {
    history.pushState(next, "", `${location.pathname}${location.search}${next ? "#sent" : ""}`);
    setSent(next);
  };
  return [sent, show] as const;
}

/** The site's content in a language: undefined while it is loading, null if it is unavailable. */
function useSite(service: Service, locale: Locale) {
  const [site, setSite] = useState<Site | null>();
  const [tried, setTried] = useState(0);
  useEffect(() => {
    let current = true;
    service.read(locale).then(
      (response) => current && setSite(response),
      () => current && setSite((old) => old ?? null), // keep the previous content
    );
    return () => void (current = false);
  }, [locale, tried]);
  const again = () => setTried((n) => n + 1);
  useEffect(() => service.follow(again), []);
  return [site, again, tried] as const;
}

/** Returns the page's URL in a language. It keeps the other parameters, such as the visitor's attribution. */
function addressIn(locale: Locale) {
  const query = new URLSearchParams(location.search);
  query.set("lang", locale);
  return `?${query}${location.hash}`;
}
