// Actions on several leads: the selection, the actions and the failures.
import { useEffect, useRef, useState } from "preact/hooks";
import { LeadsDocument, type LeadStatus, type ListedLeadFragment as Listed } from "../generated/inbox";
import { type Failed, isUndoable, listedNow, maxLeads, type Order, type Orders, runBulk, undoOf } from "./bulk";
import { useDraft } from "./drafts";
import { count, plural } from "./format";
import { addressField, confirmed, FullName, Icon, nameOf, Options, submits, undoTime } from "./parts";
import { type Filter, type Params, sortOf } from "./filters";
import { address } from "./route";
import { decisionQuestion } from "./review";
import { ask, type Failure, ownAddress } from "./service";
import { words } from "./words";
import { Owners } from "./work";

type Chosen = ReadonlyMap<string, Listed>;

/** The selected leads, by id. */
export interface Selection {
  /** Undefined while nothing is being selected. */
  chosen: Chosen | undefined;
  begin: () => void;
  end: () => void;
  toggle: (lead: Listed) => void;
  select: (leads: readonly Listed[]) => void;
}

export function useSelection(): Selection {
  const [leads, setLeads] = useDraft<readonly Listed[] | undefined>("selection", undefined);
  const chosen = leads && new Map(leads.map((lead) => [lead.id, lead]));
  return {
    chosen,
    begin: () => setLeads([]),
    end: () => setLeads(undefined),
    toggle: (lead) => {
      const next = new Map(chosen);
      if (!next.delete(lead.id) && next.size < maxLeads) next.set(lead.id, lead);
      setLeads([...next.values()]);
    },
    select: setLeads,
  };
}

interface Props {
  selection: Selection;
  /** The number of leads in the list, if it is known. */
  total: number | undefined;
  filter: Filter;
  params: Params;
  /** Reloads the list. */
  changed: () => void;
}

/** What was done, and how to undo it. */
interface Outcome {
  text: string;
  failed: Failed[];
  undo: (() => void) | undefined;
}

interface Progress {
  done: number;
  of: number;
}

/** The actions on the selected leads, below the list. */
export function SelectionBar({ selection, total, filter, params, changed }: Props) {
  const [progress, setProgress] = useState<Progress>();
  const [result, setResult] = useState<Outcome>();
  const [failure, setFailure] = useState<Failure>();
  const [assigning, setAssigning] = useState(false);
  const stop = useRef(new AbortController());
  const chosen = [...(selection.chosen?.values() ?? [])];
  const t = words.selection;

  useEffect(() => {
    if (!result?.undo) return;
    const timer = setTimeout(() => setResult({ ...result, undo: undefined }), undoTime);
    return () => clearTimeout(timer);
  }, [result]);

  const run = async (orders: Orders, text: (leads: string) => string, back: Orders = []) => {
    setAssigning(false);
    setResult(undefined);
    stop.current = new AbortController();
    const of = orders.reduce((sum, [, leads]) => sum + leads.length, 0);
    const shown = (done: number) => setProgress({ done, of });
    shown(0);
    const { done, failed, remaining } = await runBulk(orders, shown, stop.current.signal);
    setProgress(undefined);
    selection.select(remaining);
    changed();

    const unchanged = new Set(remaining.map(({ id }) => id));
    const undone = back
      .map(([order, leads]): Orders[number] => [order, leads.filter(({ id }) => !unchanged.has(id))])
      .filter(([, leads]) => leads.length > 0);
    const undo = undone.length > 0 ? () => run(undone, t.undone) : undefined;
    setResult({ text: text(plural(done, words.nouns.leads)), failed, undo });
  };
  const order = async (order: Order) => {
    const { action } = order;
    const open = chosen.filter(({ state }) => state === "IN_REVIEW" || (action === "release" && state === "REJECTED"));
    const asks = open.length > 0 && (action === "release" || action === "reject");
    if (asks && !(await confirmed(decisionQuestion(action, open.length)))) return;

    // Undoing gives back what the leads have now. A lead that left the list meanwhile is not undone, since what it has is unknown.
    const now = isUndoable(order) ? await listedNow(chosen, filter, sortOf(params)).catch(() => []) : [];
    await run([[order, chosen]], t.done[action], undoOf(order, now));
  };
  const selectAll = async () => {
    setFailure(undefined);
    try {
      const { leads } = await ask(LeadsDocument, { filter, sort: sortOf(params), first: maxLeads });
      selection.select(leads.edges.map((edge) => edge.node));
    } catch (e) {
      setFailure(e as Failure);
    }
  };

  if (progress) {
    return (
      <section class="selection" aria-label={t.label}>
        <progress value={progress.done} max={progress.of} aria-label={t.label} />
        <div class="actions">
          <span role="status">{t.progress(count(progress.done), count(progress.of))}</span>
          <button type="button" onClick={() => stop.current.abort()}>{words.cancel}</button>
        </div>
      </section>
    );
  }
  const none = chosen.length === 0;
  return (
    <section class="selection" aria-label={t.label}>
      {result && <Result {...result} params={params} />}
      {failure && <p class="bad-text" role="alert">{failure.message}</p>}
      <div class="actions">
        <strong role="status">{t.chosen(plural(chosen.length, words.nouns.leads))}</strong>
        <button type="button" onClick={selectAll}>
          {(total ?? 0) > maxLeads ? t.first(count(maxLeads)) : t.all(total === undefined ? "" : count(total))}
        </button>
        <button type="button" class="plain" onClick={selection.end} aria-label={words.close}><Icon name="close" /></button>
      </div>
      <div class="actions">
        {(["release", "reject", "retry"] as const).map((action) => (
          <button key={action} type="button" disabled={none} onClick={() => order({ action })}>
            {action === "retry" ? words.delivery.tryNow : t[action]}
          </button>
        ))}
        <button type="button" disabled={none} aria-expanded={assigning} onClick={() => setAssigning(!assigning)}>
          {words.work.assign} …
        </button>
        <StatusChoice disabled={none} choose={(status) => order({ action: "status", status })} />
      </div>
      {assigning && <Assign assign={(owner) => order({ action: "assign", owner })} />}
    </section>
  );
}

/** A select element whose options are actions. */
function StatusChoice({ disabled, choose }: { disabled: boolean; choose: (status: LeadStatus) => void }) {
  return (
    <select
      aria-label={words.work.status}
      disabled={disabled}
      value=""
      onChange={(e) => choose(e.currentTarget.value as LeadStatus)}
    >
      <option value="" disabled hidden>{words.work.status} …</option>
      <Options of={words.statuses} />
    </select>
  );
}

function Assign({ assign }: { assign: (owner: string | null) => void }) {
  const own = ownAddress();
  return (
    <form class="inline" onSubmit={submits((value) => assign(value("owner") || null))}>
      <input
        {...addressField}
        name="owner"
        list="owners"
        autofocus
        aria-label={words.work.owner}
        placeholder={words.work.nobody}
      />
      <Owners />
      <button type="submit" class="primary">{words.work.assign}</button>
      {own && <button type="button" onClick={() => assign(own)}>{words.work.assignToMe}</button>}
    </form>
  );
}

/** The result, with the failed leads, which stay selected. */
function Result({ text, failed, undo, params }: Outcome & { params: Params }) {
  const t = words.selection;
  return (
    <div role="status">
      <p>
        {text} {undo && <button type="button" onClick={undo}>{words.undo}</button>}
      </p>
      {failed.length > 0 && (
        <>
          <p class="bad-text">{t.failed(plural(failed.length, words.nouns.leads))}</p>
          <ul class="failed">
            {failed.map(({ lead, reason }) => (
              <li key={lead.id}>
                <a href={address("leads", { ...params, lead: lead.reference })}><FullName of={nameOf(lead)} /></a>{" "}
                <span class="muted small">{reason}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
