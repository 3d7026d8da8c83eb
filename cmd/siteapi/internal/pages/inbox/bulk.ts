// Applies an action to many leads, in portions, so that it can show progress and can be stopped.
import {
  AssignLeadsDocument,
  type LeadFilter,
  type LeadSort,
  LeadsDocument,
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

export const maxLeads = 500; // leads at once
const portion = 25;

/** An action on the leads. The owner of an assignment may be null: unassigned. */
export type Order =
  | { action: "release" | "reject" | "retry" }
  | { action: "assign"; owner: string | null }
  | { action: "status"; status: LeadStatus };

/** Orders, each with its leads. */
export type Orders = [Order, Listed[]][];

/** Whether an order changes only what another order can give back. */
export const isUndoable = ({ action }: Order) => action === "assign" || action === "status";

/** The orders that give leads the owner or the status back that they had before an order changed it. */
export function undoOf(order: Order, before: readonly Listed[]): Orders {
  const { action } = order;
  switch (action) {
    case "assign": {
      const next = order.owner?.toLowerCase() ?? null;
      const changed = before.filter(({ owner }) => owner !== next);
      return [...Map.groupBy(changed, ({ owner }) => owner)].map(([owner, some]) => [{ action, owner }, some]);
    }
    case "status": {
      const changed = before.filter(({ status }) => status !== order.status);
      return [...Map.groupBy(changed, ({ status }) => status)].map(([status, some]) => [{ action, status }, some]);
    }
  }
  return [];
}

/** Loads the leads that are in the list now, as colleagues may have changed them since they were selected. */
export async function listedNow(leads: readonly Listed[], filter: LeadFilter, sort: LeadSort): Promise<Listed[]> {
  const { edges } = (await ask(LeadsDocument, { filter, sort, first: maxLeads })).leads;
  const ids = new Set(leads.map(({ id }) => id));
  return edges.map(({ node }) => node).filter(({ id }) => ids.has(id));
}

export interface Failed {
  lead: Listed;
  reason: string;
}

export interface Result {
  /** Number of leads that were changed, without those that needed no change. */
  done: number;
  failed: Failed[];
  /** The leads that were not processed, because of a failure or a stop. */
  remaining: Listed[];
}

/** Processes the leads portion by portion, and reports the number of processed leads after each. */
export async function runBulk(orders: Orders, progress: (n: number) => void, stop: AbortSignal): Promise<Result> {
  const failed: Failed[] = [];
  const stopped: Listed[] = [];
  let n = 0;
  let done = 0;
  for (const [order, some] of orders.flatMap(portionsOf)) {
    if (stop.aborted) {
      stopped.push(...some);
      continue;
    }
    const result = await runPortion(order, some, stop);
    failed.push(...result.failed);
    done += result.changed;
    n += some.length;
    progress(n);
  }
  return { done, failed, remaining: [...failed.map(({ lead }) => lead), ...stopped] };
}

/**
 * Divides the leads into portions with the same state, which each request sends as the expected one. An assignment is a
 * single portion, because the owner gets a mail for each request.
 */
function portionsOf([order, leads]: Orders[number]): Orders {
  if (order.action === "assign") return [[order, leads]];
  return [...Map.groupBy(leads, ({ state }) => state).values()].flatMap((some) => {
    const starts = some.map((_, i) => i).filter((i) => i % portion === 0);
    return starts.map((start) => [order, some.slice(start, start + portion)] as const satisfies Orders[number]);
  });
}

/** Processes a portion. If the service limits the rate, it waits and tries again. */
async function runPortion(order: Order, leads: Listed[], stop: AbortSignal) {
  for (;;) {
    try {
      const { changed, failed } = await send(order, leads);
      const reasons = new Map(failed.map(({ lead, reason }) => [lead, reason]));
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
