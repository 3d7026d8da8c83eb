// The team's work on a lead: its owner, status, outcome and notes.
import { useState } from "preact/hooks";
import {
  AddLeadNoteDocument,
  AssignLeadDocument,
  LeadDocument,
  type LeadOutcomeValue,
  type LeadLossReason,
  type LeadStatus,
  type OutcomeFragment,
  OwnersDocument,
  SetLeadFollowUpDocument,
  SetLeadOutcomeDocument,
  SetLeadStatusDocument,
  type WholeLeadFragment as Lead,
} from "../generated/inbox";
import { useDraft } from "./drafts";
import { amount, amountToType, dayText, exact, midnightOf, shortDay, typedAmount } from "./format";
import { Action, addressField, Card, Fact, Options, perform, submits, useAction } from "./parts";
import { ask, Failure, may, ownAddress, useQuery } from "./service";
import { words } from "./words";

/** What a part of a lead needs to show and change it. */
export interface LeadProps {
  lead: Lead;
  /** Waits for an operation, and shows the changed lead. After a success, `sent` first ends the drafts of what was sent. */
  change: (operation: Promise<{ changed: Changed }>, sent?: () => void) => Promise<void>;
}

/** The result of a change: the lead, or why a mutation for several leads did not change it. */
type Changed = { lead: Lead | null } | OutcomeFragment;

/** The changed lead, loaded if the result does not have it. It throws the reason why the lead was not changed. */
export async function changedLead(id: string, changed: Changed): Promise<Lead | null> {
  if ("lead" in changed) return changed.lead;
  const [failed] = changed.failed;
  if (failed) throw new Failure("refused", words.selection.reasons[failed.reason]);
  return (await ask(LeadDocument, { id })).lead;
}

/** The addresses of owners seen so far. They are suggested in addition to those of possible owners. */
const owners = new Set<string>();

export function Owners() {
  const possible = useQuery(OwnersDocument, { sales: may("SALES") }).data?.leadOwners ?? [];
  remember(ownAddress());
  return (
    <datalist id="owners">
      {[...new Set([...owners, ...possible])].sort().map((address) => (
        <option key={address} value={address} />
      ))}
    </datalist>
  );
}

/** Remembers the owner of a lead while the page is open. */
export const remember = (owner: string | null | undefined) => owner && owners.add(owner);

export function Work({ lead, change }: LeadProps) {
  remember(lead.owner);
  if (!may("SALES")) {
    return (
      <Card title={words.work.title}>
        <Fact name={words.work.owner}>{lead.owner ?? words.work.nobody}</Fact>
        <Fact name={words.work.status}>{words.statuses[lead.status]}</Fact>
      </Card>
    );
  }
  return (
    <Card title={words.work.title}>
      <Fact name={words.work.owner}><Owner key={lead.owner} lead={lead} change={change} /></Fact>
      <Fact name={words.work.status}><Status lead={lead} change={change} /></Fact>
      <Fact name={words.work.followUp}><FollowUp key={lead.followUpAt} lead={lead} change={change} /></Fact>
      <Fact name={words.work.answered}>{lead.answeredAt ? exact(lead.answeredAt) : words.work.notAnswered}</Fact>
      <Fact name={words.outcome.title}><Outcome key={lead.outcome?.at} lead={lead} change={change} /></Fact>
      <Notes lead={lead} change={change} />
    </Card>
  );
}

function Owner({ lead, change }: LeadProps) {
  const [address, setAddress] = useDraft(`owner ${lead.id}`, lead.owner ?? "");
  const owner = address.trim() || null;
  const own = ownAddress();
  const assign = (to: string | null) =>
    change(ask(AssignLeadDocument, { id: lead.id, owner: to }), () => setAddress(lead.owner ?? ""));
  const undo = () => assign(lead.owner);
  const { busy, act } = useAction(
    () => assign(owner),
    owner ? words.work.assigned(owner) : words.work.freed,
    { undo },
  );
  return (
    <form class="inline" onSubmit={submits(act)}>
      <input
        {...addressField}
        list="owners"
        aria-label={words.work.owner}
        placeholder={words.work.nobody}
        value={address}
        onInput={(e) => setAddress(e.currentTarget.value)}
      />
      <Owners />
      <button type="submit" disabled={busy || owner === lead.owner}>{words.work.assign}</button>
      {own && own !== lead.owner && (
        <Action shortcut="a" run={() => assign(own)} done={words.work.assigned(own)} undo={undo}>
          {words.work.assignToMe}
        </Action>
      )}
    </form>
  );
}

function Status({ lead, change }: LeadProps) {
  const [busy, setBusy] = useState(false);
  const put = (status: LeadStatus) => change(ask(SetLeadStatusDocument, { id: lead.id, status }));
  const set = async (status: LeadStatus) => {
    setBusy(true);
    await perform(() => put(status), words.work.statusSet(words.statuses[status]), () => put(lead.status));
    setBusy(false);
  };
  return (
    <select
      aria-label={words.work.status}
      value={lead.status}
      disabled={busy}
      onChange={(e) => set(e.currentTarget.value as LeadStatus)}
    >
      <Options of={words.statuses} />
    </select>
  );
}

/** The day on which to come back to a lead. An empty field removes it. */
function FollowUp({ lead, change }: LeadProps) {
  const set = lead.followUpAt ? dayText(new Date(lead.followUpAt)) : "";
  const [day, setDay] = useDraft(`follow-up ${lead.id}`, set);
  const at = midnightOf(day);
  const put = (at: string | null) => change(ask(SetLeadFollowUpDocument, { id: lead.id, at }), () => setDay(set));
  const { busy, act } = useAction(
    () => put(at),
    at ? words.work.followUpSet(shortDay(new Date(at))) : words.work.followUpRemoved,
    { undo: () => put(lead.followUpAt) },
  );
  return (
    <form class="inline" onSubmit={submits(act)}>
      <input
        type="date"
        aria-label={words.work.followUp}
        min={dayText(new Date())}
        max="9999-12-31"
        value={day}
        onInput={(e) => setDay(e.currentTarget.value)}
      />
      <button type="submit" disabled={busy || day === set}>{words.save}</button>
    </form>
  );
}

/** The outcome of a lead, with its source, and a form to change it. */
function Outcome({ lead, change }: LeadProps) {
  const { outcome } = lead;
  const before = {
    outcome: outcome?.value ?? null,
    amount: outcome?.amount ?? null,
    currency: outcome?.currency ?? null,
    lossReason: outcome?.lossReason ?? null,
    lossNote: outcome?.lossNote ?? null,
  };
  const [value, setValue] = useDraft<LeadOutcomeValue | "">(`outcome ${lead.id}`, before.outcome ?? "");
  const worthBefore = amountToType(before.amount);
  const [worth, setWorth] = useDraft(`amount ${lead.id}`, worthBefore);
  const currencyBefore = before.currency ?? lead.estimate.currency;
  const [currency, setCurrency] = useDraft(`currency ${lead.id}`, currencyBefore);
  const [reason, setReason] = useDraft<LeadLossReason | "">(`reason ${lead.id}`, before.lossReason ?? "");
  const [why, setWhy] = useDraft(`loss ${lead.id}`, before.lossNote ?? "");
  const lost = value === "LOST";
  const won = value === "WON" && worth.trim() !== "";
  const code = currency.trim().toUpperCase();
  const typed = isCurrency(code) ? typedAmount(worth, code) : null;
  const endDrafts = () => {
    setValue(before.outcome ?? "");
    setWorth(worthBefore);
    setCurrency(currencyBefore);
    setReason(before.lossReason ?? "");
    setWhy(before.lossNote ?? "");
  };
  const put = (next: typeof before) => change(ask(SetLeadOutcomeDocument, { id: lead.id, ...next }), endDrafts);
  const { busy, act } = useAction(
    () =>
      put({
        outcome: value || null,
        amount: won ? typed : null,
        currency: won ? code : null,
        lossReason: (lost && reason) || null,
        lossNote: (lost && why.trim()) || null,
      }),
    words.outcome.saved,
    outcome?.source === "CRM" ? {} : { undo: () => put(before) }, // which would make it the operator's
  );
  if (lead.state === "IN_REVIEW" || lead.state === "REJECTED") return <>{words.notKnown}</>;
  return (
    <form class="inline" onSubmit={submits(act)}>
      <select
        aria-label={words.outcome.title}
        value={value}
        onChange={(e) => setValue(e.currentTarget.value as LeadOutcomeValue | "")}
      >
        <option value="">{words.notKnown}</option>
        <Options of={words.outcomes} />
      </select>
      {value === "WON" && (
        <>
          <input
            inputMode="decimal"
            class="short"
            maxLength={20}
            aria-invalid={won && typed === null}
            aria-label={words.outcome.amount}
            placeholder={words.outcome.amount}
            value={worth}
            onInput={(e) => setWorth(e.currentTarget.value)}
          />
          <input
            class="currency"
            aria-label={words.outcome.currency}
            maxLength={3}
            pattern="[A-Za-z]{3}"
            required={won}
            value={currency}
            onInput={(e) => setCurrency(e.currentTarget.value)}
          />
        </>
      )}
      {lost && (
        <>
          <select
            aria-label={words.outcome.lossReason}
            value={reason}
            onChange={(e) => setReason(e.currentTarget.value as LeadLossReason | "")}
          >
            <option value="">{words.outcome.lossReason}</option>
            <Options of={words.lossReasons} />
          </select>
          <input
            aria-label={words.outcome.lossNote}
            placeholder={words.outcome.lossNote}
            maxLength={500}
            value={why}
            onInput={(e) => setWhy(e.currentTarget.value)}
          />
        </>
      )}
      {won && (
        <output class="muted small" translate={false}>
          {typed === null ? words.outcome.unreadable(amountToType(1200.5)) : amount(typed, code)}
        </output>
      )}
      <button type="submit" disabled={busy || (won && typed === null)}>{words.save}</button>
      {outcome && <span class="muted small" translate={false}>{outcomeText(outcome)}</span>}
    </form>
  );
}

const isCurrency = (code: string) => /^[A-Z]{3}$/.test(code);

/** Describes an outcome: its amount, source and time. */
function outcomeText({ amount: worth, currency, at, source, by }: NonNullable<Lead["outcome"]>): string {
  const who = source === "CRM" ? words.outcome.crm : (by ?? words.outcome.operator);
  const money = worth !== null && currency ? [amount(worth, currency)] : [];
  return [...money, who, exact(at)].join(" · ");
}

const maxNote = 2000; // characters

function Notes({ lead, change }: LeadProps) {
  const [text, type] = useDraft(`note ${lead.id}`, "");
  const { busy, act } = useAction(async () => {
    await change(ask(AddLeadNoteDocument, { id: lead.id, text }));
    type("");
  }, words.work.noted);
  return (
    <>
      {!!lead.notes?.length && (
        <ol class="notes">
          {lead.notes.map((note) => (
            <li key={`${note.at} ${note.author}`}>
              <p class="message" dir="auto">{note.text}</p>
              <p class="muted small">
                <bdi>{note.author}</bdi> · <time dateTime={note.at}>{exact(note.at)}</time>
              </p>
            </li>
          ))}
        </ol>
      )}
      <form class="note" onSubmit={submits(act)}>
        <textarea
          rows={2}
          aria-label={words.work.note}
          placeholder={words.work.note}
          maxLength={maxNote}
          value={text}
          onInput={(e) => type(e.currentTarget.value)}
        />
        <button type="submit" disabled={busy || !text.trim()}>{words.work.addNote}</button>
      </form>
    </>
  );
}
