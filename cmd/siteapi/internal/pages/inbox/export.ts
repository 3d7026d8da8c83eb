// Leads as a table for a spreadsheet, with the columns of `siteapi leads export`.
import { LeadExportDocument, type LeadExportQuery, type LeadExportQueryVariables } from "../generated/inbox";
import { toast } from "./parts";
import { ask, type Failure } from "./service";
import { plural } from "./words";

type Lead = LeadExportQuery["leads"]["edges"][number]["node"];

const columns: [string, (lead: Lead) => string | number | boolean | null][] = [
  ["submitted_at", (l) => new Date(l.submittedAt).toISOString()],
  ["submission_id", (l) => l.id],
  ["reference", (l) => l.reference],
  ["first_name", (l) => l.contact.firstName],
  ["last_name", (l) => l.contact.lastName],
  ["email", (l) => l.contact.email],
  ["phone", (l) => l.contact.phone],
  ["company", (l) => l.contact.company],
  ["locale", (l) => l.locale],
  ["project_type", (l) => l.selections.projectType],
  ["features", (l) => l.selections.features.join(";")],
  ["complexity", (l) => l.selections.complexity],
  ["timeline", (l) => l.selections.timeline],
  ["estimate_min", (l) => l.estimate.min],
  ["estimate_max", (l) => l.estimate.max],
  ["currency", (l) => l.estimate.currency],
  ["session_id", (l) => l.sessionId],
  ["pdf", (l) => l.pdfUrl],
  ["in_review", (l) => l.state === "IN_REVIEW"],
  ["signals", (l) => l.signals.join(";")],
  ["price_status", (l) => l.priceStatus],
];

/** Puts ' before what a spreadsheet could take for a formula: at the beginning of a cell, and after what separates cells. */
const inert = (text: string) => text.replace(/(^|[,;|\t\r\n])([ \u00a0"]*)([=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1$2'$3");

function cell(value: string | number | boolean | null): string {
  const text = typeof value === "string" ? inert(value) : String(value ?? "");
  return /[",\r\n]|^\s/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const line = (cells: Parameters<typeof cell>[0][]) => `${cells.map(cell).join(",")}\r\n`;

/** Saves all leads that match, page by page, and waits if the service asks for it (Retry-After). */
export async function exportLeads(filter: Omit<LeadExportQueryVariables, "first" | "after">) {
  const abort = new AbortController();
  const parts = ["\ufeff", line(columns.map(([name]) => name))]; // Excel needs the byte order mark
  let rows = 0;
  const cancel = { text: "Cancel", run: () => abort.abort() };
  const progress = () => toast({ text: `Exporting … ${plural(rows, "lead")} so far`, tone: "busy", action: cancel });
  progress();
  for (let after: string | null = null; !abort.signal.aborted; ) {
    try {
      const { leads }: LeadExportQuery = await ask(LeadExportDocument, { ...filter, first: 500, after }, abort.signal);
      for (const { node } of leads.edges) parts.push(line(columns.map(([, value]) => value(node))));
      rows += leads.edges.length;
      after = leads.pageInfo.endCursor;
      if (!leads.pageInfo.hasNextPage) {
        save(new Blob(parts, { type: "text/csv;charset=utf-8" }), `leads-${new Date().toISOString().slice(0, 10)}.csv`);
        toast({ text: `${plural(rows, "lead")} exported.`, tone: "good" });
        return;
      }
      if (!abort.signal.aborted) progress();
    } catch (e) {
      const failure = e as Failure;
      if (abort.signal.aborted) break;
      if (failure.kind !== "limited") return toast({ text: `The export stopped: ${failure.message}`, tone: "bad" });
      await new Promise((resolve) => setTimeout(resolve, failure.retryAfter * 1000));
    }
  }
  toast({ text: "The export was cancelled.", tone: "quiet" });
}

/** Has the browser save a file. */
export function save(blob: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
