// The page after a request was accepted.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Locale } from "../generated/calculator";
import type { Sent } from "./draft";
import { reference, type Service } from "./service";
import { words } from "./words";

interface Props {
  sent: Sent;
  service: Service;
  locale: Locale;
  onCorrect: () => void;
  onRestart: () => void;
}

export function Accepted({ sent: { receipt, draft }, service, locale, onCorrect, onRestart }: Props) {
  const t = words[locale];
  const heading = useRef<HTMLHeadingElement>(null);
  const [thanks, setThanks] = useState<readonly string[]>([]);
  useEffect(() => heading.current?.focus(), []);
  useEffect(() => {
    let current = true;
    service.thanks(receipt, locale).then(
      (paragraphs) => current && setThanks(paragraphs),
      () => {}, // the request is accepted all the same
    );
    return () => void (current = false);
  }, [receipt, locale]);
  return (
    <section class="accepted" part="panel" aria-labelledby="accepted">
      <h2 id="accepted" ref={heading} tabIndex={-1}>
        {t.thanks(draft.contact.firstName)}
      </h2>
      {thanks.map((paragraph) => (
        <p>{paragraph}</p>
      ))}
      <p>
        {t.accepted} <strong><bdi>{draft.contact.email}</bdi></strong>
      </p>
      {service.mails && <p>{t.confirmation}</p>}
      <p>
        <button class="quiet" onClick={onCorrect}>
          {t.correct}
        </button>
      </p>
      <p>{t.summary}</p>
      <p class="actions">
        <a class="button" href={service.page(receipt, locale)}>
          {t.page}
        </a>
        <a class="button" href={service.pdf(receipt, locale)} download>
          {t.pdf}
        </a>
        <button class="quiet" onClick={onRestart}>
          {t.restart}
        </button>
      </p>
      <p class="note">
        {t.reference}: <code>{reference(receipt)}</code>
      </p>
    </section>
  );
}
