// The calculator: the site's content in a language, and the form or what follows it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Locale } from "../generated/calculator";
import { Accepted } from "./accepted";
import { newDraft, store } from "./draft";
import { QuoteForm } from "./form";
import type { Service, Site } from "./service";
import { words } from "./words";

interface Props {
  /** The element, for events and for what the page puts into it. */
  host: HTMLElement;
  service: Service;
  locale: Locale;
}

export function Calculator({ host, service, locale }: Props) {
  const [site, retry, version] = useSite(service, locale);
  const { draft, sent } = store(`${service.base} ${host.id}`);
  const [entered, setEntered] = useState(() => ({ ...newDraft(), ...draft.read() }));
  const [accepted, setAccepted] = useState(sent.read);
  const correcting = useRef(false);

  // A reload or a return to the page restores the draft or the accepted request. A layout effect saves it before the
  // next event, so that a reload loses no keystroke.
  useLayoutEffect(() => {
    draft.save(accepted ? null : entered);
    sent.save(accepted);
  }, [accepted, entered]);

  /** Returns to the submitted form, at the e-mail address. Sending it again is a new request. */
  function correct() {
    correcting.current = true;
    if (accepted) setEntered(accepted.draft);
    setAccepted(null);
  }

  function restart() {
    correcting.current = false;
    setEntered(({ contact }) => newDraft(contact));
    setAccepted(null);
    host.scrollIntoView();
  }

  const t = words[locale];
  if (!site) {
    return (
      <div class="waiting" aria-busy={site === undefined}>
        {site === null && <p role="alert">{t.unavailable}</p>}
        {site === null && <button onClick={retry}>{t.reload}</button>}
      </div>
    );
  }
  return accepted ? (
    <Accepted {...{ sent: accepted, service, locale }} onCorrect={correct} onRestart={restart} />
  ) : (
    <QuoteForm
      {...{ host, service, locale, site, version, draft: entered, update: setEntered, correcting: correcting.current }}
      onAccepted={(receipt) => setAccepted({ receipt, draft: entered })}
    />
  );
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
