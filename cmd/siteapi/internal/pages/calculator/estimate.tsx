// The price of the choices, and its place on the page.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Locale } from "../generated/calculator.js";
import { moneyFormat, type Estimate, type Option, type Selections } from "./quote.js";
import type { Service } from "./service.js";
import type { Words } from "./words.js";

/** The price of the choices. The last one stays while the next one is loading, and if that fails. */
export function useEstimate(service: Service, locale: Locale, selections: Selections, some: boolean, version: number) {
  const [estimate, setEstimate] = useState<Estimate | null>(null);
  const [failed, setFailed] = useState(false);
  const asked = useRef<Promise<Estimate | null>>(Promise.resolve(null));
  useEffect(() => {
    let current = true;
    asked.current = some ? service.estimate(selections, locale) : Promise.resolve(null);
    asked.current.then(
      (response) => {
        if (!current) return;
        setEstimate(response);
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

/** Formats the range of an estimate; empty if there is no price. */
export function rangeText(estimate: Estimate | null, locale: Locale) {
  if (estimate?.min == null || !estimate.max) return "";
  return moneyFormat(locale, estimate.currency).formatRange(estimate.min, estimate.max);
}

interface LinesProps {
  estimate: Estimate | null;
  picked: Option[];
  money: Intl.NumberFormat;
  t: Words;
}

/** The price of each choice. */
export function Lines({ estimate, picked, money, t }: LinesProps) {
  return (
    <ul>
      {estimate?.lines.map(({ field, slug, label, amount }) => (
        <li key={`${field} ${slug}`}>
          <span>{label}</span>{" "}
          <span translate={!amount}>{amount ? money.format(amount) : t.included}</span>
        </li>
      ))}
      {estimate?.unpriced.map((slug) => (
        <li key={`open ${slug}`}>
          <span>{picked.find((option) => option.slug === slug)?.label ?? slug}</span> <span>{t.open}</span>
        </li>
      ))}
    </ul>
  );
}
