// The price of the choices, and its place on the page.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Locale } from "../generated/calculator";
import { grouped, moneyFormat, share, type Estimate, type measured, type Option } from "./quote";
import type { Service } from "./service";
import type { Words } from "./words";

/** The price of the choices. The last one stays while the next one is loading, and if that fails. */
export function useEstimate(service: Service, locale: Locale, selections: ReturnType<typeof measured>, some: boolean, version: number) {
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
  return span(moneyFormat(locale, estimate.currency), estimate.min, estimate.max);
}

/** Formats a range, or a single amount: a format would write that as an approximate one. */
const span = (format: Intl.NumberFormat, min: number, max: number) =>
  min === max ? format.format(min) : format.formatRange(min, max);

interface LinesProps {
  estimate: Estimate | null;
  picked: Option[];
  locale: Locale;
  t: Words;
}

/** The price of each choice, and the tax. */
export function Lines({ estimate, picked, locale, t }: LinesProps) {
  const { tax, min, max } = estimate ?? {};
  const money = moneyFormat(locale, estimate?.currency);
  const name = tax && `${share(tax.percent, locale)} ${tax.label ?? t.tax}`;
  return (
    <ul>
      {estimate?.lines.map(({ field, slug, label, amount, quantity, unit, unitPrice, flat, percent }) => (
        <li key={`${field} ${slug}`}>
          <span>
            {label}
            {quantity && ` · ${grouped(quantity, locale)} ${unit}`}
            {unitPrice != null && (
              <span translate={false}>
                {` × ${money.format(unitPrice)}`}
                {flat ? ` + ${money.format(flat)}` : ""}
                {percent ? ` ${percent < 0 ? "−" : "+"} ${share(percent, locale)}` : ""}
              </span>
            )}
          </span>{" "}
          <span translate={!amount}>{amount ? money.format(amount) : t.included}</span>
        </li>
      ))}
      {estimate?.unpriced.map((slug) => (
        <li key={`open ${slug}`}>
          <span>{picked.find((option) => option.slug === slug)?.label ?? slug}</span> <span>{t.open}</span>
        </li>
      ))}
      {tax && (
        <li key="tax">
          <span>{tax.included ? t.including(name!) : `+ ${name}`}</span>{" "}
          <span translate={false}>{span(money, tax.min, tax.max)}</span>
        </li>
      )}
      {tax && !tax.included && (
        <li key="total">
          <span>{t.total}</span> <span translate={false}>{span(money, min! + tax.min, max! + tax.max)}</span>
        </li>
      )}
    </ul>
  );
}
