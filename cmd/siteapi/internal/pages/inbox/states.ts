// How leads and deliveries are doing: colours of states, and sentences about deliveries.
import type { DeliveryState, DeliveryTarget, HealthState, LeadState, Locale, PriceStatus } from "../generated/inbox";
import { relative } from "./format";
import { said, words } from "./words";

export type Tone = "good" | "busy" | "warn" | "bad" | "quiet";

/** What a chip says, and its colour. */
export interface Mark {
  text: string;
  tone: Tone;
}

const leadTones: Record<LeadState, Tone> = {
  IN_REVIEW: "warn",
  UNDER_WAY: "busy",
  FAILED: "bad",
  DELIVERED: "good",
  REJECTED: "quiet",
};

const deliveryTones: Record<DeliveryState, Tone> = {
  PENDING: "busy",
  RUNNING: "busy",
  RETRYING: "warn",
  FAILED: "bad",
  DELIVERED: "good",
  NOT_SENT: "quiet",
};

const priceTones: Record<PriceStatus, Tone> = {
  VERIFIED: "good",
  HONOURED: "good",
  UNPRICED: "warn",
  NOT_VERIFIED: "quiet",
};

export const healthTones: Record<HealthState, Tone> = { OK: "good", WARNING: "warn", FAILED: "bad" };

export const leadMark = (state: LeadState): Mark => ({ text: words.leadStates[state], tone: leadTones[state] });

/** Reports whether a delivery may still change by itself. */
export const isUnderWay = ({ state }: { state: DeliveryState }) =>
  state === "PENDING" || state === "RUNNING" || state === "RETRYING";

export const deliveryMark = (state: DeliveryState): Mark => ({
  text: words.deliveryStates[state],
  tone: deliveryTones[state],
});

/** Whose price the range of a lead is. */
export const priceMark = (state: PriceStatus): Mark => ({ text: words.priceStates[state], tone: priceTones[state] });

export const healthMark = (state: HealthState): Mark => ({ text: words.health.states[state], tone: healthTones[state] });

/** The subject of an answer to a lead, in the visitor's language; the reference follows. */
export const mailSubject: Record<Locale, string> = {
  en: "Your quote request",
  es: "Su solicitud de presupuesto",
  ro: "Solicitarea dumneavoastră de ofertă",
};

interface Delivery {
  target: DeliveryTarget;
  state: DeliveryState;
  nextAttemptAt: string | null;
  reason: string | null;
}

/** How a delivery is doing, as a sentence. */
export function deliverySentence(d: Delivery, now: number): string {
  const { arrived, running, waitingFor, ...say } = words.delivery;
  const isLater = d.nextAttemptAt !== null && Date.parse(d.nextAttemptAt) > now;
  const next = isLater && d.nextAttemptAt ? relative(d.nextAttemptAt, now) : "";
  switch (d.state) {
    case "DELIVERED":
      return arrived[d.target];
    case "NOT_SENT":
      return say.notSent(d.reason ? said(d.reason) : words.reasons.unknown);
    case "RUNNING":
      return running[d.target];
    case "FAILED":
      return say.failed(reasonWords(d.reason));
  }
  if (!d.reason) return next ? `${waitingFor[d.target]}; ${say.firstTry(next)}` : say.turn;
  return `${waitingFor[d.target]}: ${reasonWords(d.reason)}; ${say.nextTry(next || say.inAMoment)}`;
}

/** A reason without status codes; an unknown one is shown unchanged. */
export function reasonWords(reason: string | null): string {
  const [, kind, status] = /\b(limited|unavailable|refused|rejected)\b(?: \(HTTP (\d+)\))?/.exec(reason ?? "") ?? [];
  switch (kind) {
    case "limited":
    case "refused":
    case "rejected":
      return words.reasons[kind];
    case "unavailable":
      return status ? words.reasons.trouble : words.reasons.unreachable;
  }
  return reason ? said(reason) : words.reasons.unknown;
}
