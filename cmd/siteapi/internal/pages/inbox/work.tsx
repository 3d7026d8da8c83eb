// The team's work on a lead: its owner, status, outcome and notes.
import { useState } from "preact/hooks";
import {
  AddLeadNoteDocument,
  AssignLeadDocument,
  type LeadOutcomeValue,
  type LeadStatus,
  OperatorNamesDocument,
  SetLeadOutcomeDocument,
  SetLeadStatusDocument,
  type WholeLeadFragment as Lead,
} from "../generated/inbox";
import { amount, exact } from "./format";
import { Action, addressField, Card, Fact, Options, perform, submits, useAction } from "./parts";
import { ask, may, ownAddress, useQuery } from "./service";
import { words } from "./words";

/** What a part of a lead needs to show and change it. */
export interface LeadProps {
  lead: Lead;
  /** Waits for an operation, and shows the changed lead. */
  change: (operation: Promise<{ lead: Lead }>) => Promise<void>;
}

/** The addresses of owners seen so far. They are suggested in addition to those of operators. */
const owners = new Set<string>();

export function Owners() {
  const names = useQuery(OperatorNamesDocument, {}).data?.operatorNames ?? [];
  const operators = names.filter((name) => name.includes("@"));
  remember(ownAddress());
  return (
    <datalist id="owners">
      {[...new Set([...owners, ...operators])].sort().map((address) => (
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
      <Fact name={words.outcome.title}><Outcome key={lead.outcome?.at} lead={lead} change={change} /></Fact>
      <Notes lead={lead} change={change} />
    </Card>
  );
}

function Owner({ lead, change }: LeadProps) {
  const [address, setAddress] = useState(lead.owner ?? "");
  const owner = address.trim() || null;
  const own = ownAddress();
  const assign = (to: string | null) => change(ask(AssignLeadDocument, { id: lead.id, owner: to }));
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

/** The outcome of a lead, with its source, and a form to change it. */
function Outcome({ lead, change }: LeadProps) {
  const { outcome } = lead;
  const [value, setValue] = useState<LeadOutcomeValue | "">(outcome?.value ?? "");
  const [worth, setWorth] = useState(outcome?.amount?.toString() ?? "");
  const [currency, setCurrency] = useState(outcome?.currency ?? lead.estimate.currency);
  const won = value === "WON" && worth !== "";
  const { busy, act } = useAction(
    () =>
      change(
        ask(SetLeadOutcomeDocument, {
          id: lead.id,
          outcome: value || null,
          amount: won ? Number(worth) : null,
          currency: won ? currency.trim().toUpperCase() : null,
        }),
      ),
    words.outcome.saved,
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
            type="number"
            class="short"
            min="0"
            max="1000000000"
            step="any"
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
            required={worth !== ""}
            value={currency}
            onInput={(e) => setCurrency(e.currentTarget.value)}
          />
        </>
      )}
      <button type="submit" disabled={busy}>{words.save}</button>
      {outcome && <span class="muted small" translate={false}>{outcomeText(outcome)}</span>}
    </form>
  );
}

/** Describes an outcome: its amount, source and time. */
function outcomeText({ amount: worth, currency, at, source, by }: NonNullable<Lead["outcome"]>): string {
  const who = source === "CRM" ? words.outcome.crm : (by ?? words.outcome.operator);
  const money = worth !== null && currency ? [amount(worth, currency)] : [];
  return [...money, who, exact(at)].join(" · ");
}

const maxNote = 2000; // characters

/** Unfinished notes by the id of their lead, while the page is open. */
const drafts = new Map<string, string>();

function Notes({ lead, change }: LeadProps) {
  const [text, setText] = useState(drafts.get(lead.id) ?? "");
  const type = (next: string) => {
    drafts.set(lead.id, next);
    setText(next);
  };
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
