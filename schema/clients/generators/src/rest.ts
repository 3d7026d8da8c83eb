// What a calculator asks with orval, and what a receiver of webhooks takes from Kubb.
import type { LeadEvent } from "../build/kubb";
import { estimateQuote } from "../build/orval";

export async function cheapest(projectType: string): Promise<number | null> {
  const response = await estimateQuote({ selections: { projectType } });
  return response.status === 200 ? response.data.min : null;
}

export function value(event: LeadEvent): number | undefined {
  return event.outcome === "WON" ? event.amount : undefined;
}
