// The states of leads and deliveries: their colors, and sentences about deliveries.
import type { DeliveryState, HealthState, LeadState, Locale, OneDeliveryFragment as Delivery, PriceStatus } from "../generated/inbox";
import { relative } from "./format";
import { words } from "./words";

export type Tone = "good" | "busy" | "warn" | "bad" | "quiet";

/** The text and the color of a chip. */
export interface Mark {
  text: string;
  tone: Tone;
}

type State = LeadState | DeliveryState | PriceStatus | HealthState;

export const tones: Record<State, Tone> = {
  IN_REVIEW: "warn",
  UNDER_WAY: "busy",
  REJECTED: "quiet",
  PENDING: "busy",
  RUNNING: "busy",
  RETRYING: "warn",
  FAILED: "bad",
  DISMISSED: "quiet",
  DELIVERED: "good",
  NOT_SENT: "quiet",
  UNCONFIRMED: "warn",
  VERIFIED: "good",
  HONORED: "good",
  UNPRICED: "warn",
  NOT_VERIFIED: "quiet",
  OK: "good",
  SKIPPED: "quiet",
  WARNING: "warn",
};

/** The chip of a state, given the texts of all states of its kind. */
export const mark = <S extends State>(texts: Record<S, string>, state: S): Mark => ({ text: texts[state], tone: tones[state] });

/** Whether a delivery may still change by itself. */
export const isUnderWay = ({ state }: { state: DeliveryState }) =>
  state === "PENDING" || state === "RUNNING" || state === "RETRYING";

/** Whether a delivery is over and needs nobody. It can only be sent again. */
export const isSettled = ({ state }: { state: DeliveryState }) =>
  state === "DELIVERED" || state === "NOT_SENT" || state === "UNCONFIRMED";

/** Whether the visitor of a lead waits for an answer to a request for deletion. */
export const asksForDeletion = (lead: { deletionRequestedAt: string | null; deletionDeclinedAt: string | null }) =>
  lead.deletionRequestedAt !== null && lead.deletionDeclinedAt === null;

/** The subject of a reply to a lead, in the visitor's language, before the reference. */
export const mailSubject: Record<Locale, string> = {
  en: "Your quote request",
  es: "Su solicitud de presupuesto",
  ro: "Solicitarea dumneavoastră de ofertă",
};

/** Describes the state of a delivery in a sentence. */
export function deliverySentence(d: Delivery, now: number): string {
  const t = words.delivery;
  const isLater = d.nextAttemptAt !== null && Date.parse(d.nextAttemptAt) > now;
  const next = isLater && d.nextAttemptAt ? relative(d.nextAttemptAt, now) : "";
  switch (d.state) {
    case "DELIVERED":
      return d.target.endsWith("MAIL") ? t.accepted : t.arrived;
    case "NOT_SENT":
      return t.notSent(noMailWords(d));
    case "UNCONFIRMED":
      return t.unconfirmed;
    case "RUNNING":
      return t.running;
    case "FAILED":
      return t.failed(reasonWords(d));
    case "DISMISSED":
      return t.dismissed(d.reason ?? words.reasons.unknown);
  }
  if (!d.reason) return next ? `${words.deliveryStates.PENDING}: ${t.firstTry(next)}` : t.turn;
  return `${words.deliveryStates.PENDING}: ${reasonWords(d)}; ${t.nextTry(next || t.inAMoment)}`;
}

/** Describes why a mail was not sent or waits, with the message of the mail server if that is the reason. */
function noMailWords({ reason, noMailReason }: Pick<Delivery, "reason" | "noMailReason">): string {
  if (!noMailReason || noMailReason === "FAILED") return reason ?? words.reasons.unknown;
  const text = words.noMailReasons[noMailReason];
  return noMailReason === "REFUSED" && reason ? `${text} (${reason})` : text;
}

/** Describes a reason without status codes; a rejection in the words of its target. An unknown reason is shown unchanged. */
export function reasonWords({ reason, noMailReason }: Pick<Delivery, "reason" | "noMailReason">): string {
  if (noMailReason) return noMailWords({ reason, noMailReason });
  const form = /\b(limited|unavailable|refused|rejected)\b(?: \(HTTP (\d+)\))?(?:: (.+))?/s;
  const [, kind, status, detail] = form.exec(reason ?? "") ?? [];
  switch (kind) {
    case "limited":
    case "refused":
      return words.reasons[kind];
    case "rejected":
      return detail ? words.reasons.said(detail) : words.reasons.rejected;
    case "unavailable":
      return status ? words.reasons.trouble : words.reasons.unreachable;
  }
  return reason ?? words.reasons.unknown;
}
