// Doing one thing with many leads, in portions, so that there is progress to show and a point to stop at.
import {
  AssignLeadsDocument,
  type LeadStatus,
  type ListedLeadFragment as Listed,
  type OutcomeFragment as Outcome,
  RejectLeadsDocument,
  ReleaseLeadsDocument,
  RetryLeadsDocument,
  SetLeadStatusesDocument,
} from "../generated/inbox";
import { ask, Failure } from "./service";
import { words } from "./words";

export const most = 500; // leads at once
const portion = 25;

/** What is done with them. The owner is that of an assignment; null: none. */
export type Order =
  | { action: "release" | "reject" | "retry" }
  | { action: "assign"; owner: string | null }
  | { action: "status"; status: LeadStatus };

export interface Failed {
  lead: Listed;
  reason: string;
}

export interface Result {
  /** Number of leads that were changed: not those that were like that already. */
  done: number;
  failed: Failed[];
  /** The leads that it was not done with, whether it failed or was stopped before. */
  left: Listed[];
}

/** Does it portion by portion, and says after each how many leads were looked at. */
export async function runBulk(
  order: Order,
  leads: readonly Listed[],
  looked: (n: number) => void,
  stop: AbortSignal,
): Promise<Result> {
  const failed: Failed[] = [];
  const left: Listed[] = [];
  let n = 0;
  let done = 0;
  for (const some of portionsOf(order, leads)) {
    if (stop.aborted) {
      left.push(...some);
      continue;
    }
    const result = await runPortion(order, some, stop);
    failed.push(...result.failed);
    done += result.changed;
    n += some.length;
    looked(n);
  }
  return { done, failed, left: [...failed.map(({ lead }) => lead), ...left] };
}

/**
 * Portions of leads that were seen in the same state, which the service is asked to expect. An assignment is a single
 * one, since the owner gets a mail for each request.
 */
function portionsOf(order: Order, leads: readonly Listed[]): Listed[][] {
  if (order.action === "assign") return leads.length > 0 ? [[...leads]] : [];
  const states = new Set(leads.map((lead) => lead.state));
  return [...states].flatMap((state) => {
    const some = leads.filter((lead) => lead.state === state);
    const starts = Array.from({ length: Math.ceil(some.length / portion) }, (_, i) => i * portion);
    return starts.map((start) => some.slice(start, start + portion));
  });
}

/** Does it with the leads of a portion, after a break if the service asks for one. */
async function runPortion(
  order: Order,
  leads: Listed[],
  stop: AbortSignal,
): Promise<{ changed: number; failed: Failed[] }> {
  for (;;) {
    try {
      const { changed, failed } = await send(order, leads);
      const reasons = new Map(failed.map(({ id, reason }) => [id, reason]));
      const named = leads.flatMap((lead) => {
        const reason = reasons.get(lead.id);
        return reason ? [{ lead, reason: words.selection.reasons[reason] }] : [];
      });
      return { changed, failed: named };
    } catch (e) {
      const { kind, message, retryAfter } = e as Failure;
      if (kind !== "limited" || stop.aborted) {
        return { changed: 0, failed: leads.map((lead) => ({ lead, reason: message })) };
      }
      await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
    }
  }
}

async function send(order: Order, leads: Listed[]): Promise<Outcome> {
  const ids = leads.map(({ id }) => id);
  const expected = leads[0]?.state ?? null;
  switch (order.action) {
    case "release":
      return (await ask(ReleaseLeadsDocument, { ids, expected })).outcome;
    case "reject":
      return (await ask(RejectLeadsDocument, { ids, expected })).outcome;
    case "retry":
      return (await ask(RetryLeadsDocument, { ids })).outcome;
    case "assign":
      return (await ask(AssignLeadsDocument, { ids, owner: order.owner })).outcome;
    case "status":
      return (await ask(SetLeadStatusesDocument, { ids, status: order.status })).outcome;
  }
}
