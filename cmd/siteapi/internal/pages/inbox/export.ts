// Exports leads as a CSV table, which the service generates.
import { LeadExportDocument, type LeadExportQuery, type LeadExportQueryVariables } from "../generated/inbox";
import { plural } from "./format";
import { toast } from "./parts";
import { ask, type Failure } from "./service";
import { words } from "./words";

/** Saves all matching leads, page by page, and honors Retry-After. */
export async function exportLeads(filter: Omit<LeadExportQueryVariables, "first" | "after">) {
  const abort = new AbortController();
  const parts: string[] = [];
  let rows = 0;
  const leads = () => plural(rows, words.nouns.leads);
  const cancel = { text: words.cancel, run: () => abort.abort() };
  const progress = () => toast({ text: words.exporting.progress(leads()), tone: "busy", action: cancel });
  progress();
  for (let after: string | null = null; !abort.signal.aborted; ) {
    try {
      const response: LeadExportQuery = await ask(LeadExportDocument, { ...filter, first: 200, after }, abort.signal);
      const page = response.leads;
      parts.push(page.csv ?? "");
      rows += page.edges.length;
      after = page.pageInfo.endCursor;
      if (!page.pageInfo.hasNextPage) {
        save(new Blob(parts, { type: "text/csv;charset=utf-8" }), `leads-${new Date().toISOString().slice(0, 10)}.csv`);
        toast({ text: filter.email ? words.people.saved : words.exporting.done(leads()), tone: "good" });
        return;
      }
      if (!abort.signal.aborted) progress();
    } catch (e) {
      const failure = e as Failure;
      if (abort.signal.aborted) break;
      if (failure.kind !== "limited") return toast({ text: words.exporting.stopped(failure.message), tone: "bad" });
      await new Promise((resolve) => setTimeout(resolve, failure.retryAfter * 1000));
    }
  }
  toast({ text: words.exporting.canceled, tone: "quiet" });
}

/** Downloads a file in the browser. */
export function save(blob: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
