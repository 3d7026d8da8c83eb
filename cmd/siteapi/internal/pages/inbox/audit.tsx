// The audit of the operators' actions, for admins, and the history of one lead.
import { type AuditAction, AuditDocument, type OneEntryFragment as Entry } from "../generated/inbox";
import { Day, Field, type Params, timeOf, typed } from "./filters";
import { amount as amountText, count, exact, items, midnightOf, plural } from "./format";
import { Again, Empty, More, Page, Pending, Select } from "./parts";
import { useList } from "./service";
import { translate, words } from "./words";
import { Owners } from "./work";

const pageSize = 100;

export function Audit({ params }: { params: Params }) {
  const t = words.audit;
  const filter = {
    action: typed<AuditAction>(params.action),
    operator: params.operator || null,
    lead: params.lead || null,
    since: timeOf(params.start),
    until: timeOf(params.end, 1),
  };
  const list = useList(AuditDocument, { ...filter, first: pageSize }, (data) => data.audit);
  return (
    <Page
      view="audit"
      intro={<>{t.intro} <code>siteapi audit verify</code> {t.verify}</>}
      tools={<Again run={list.reload} busy={list.loading} />}
    >
      <div class="fields">
        <Select name="action" label={t.action} all={t.anyAction} options={t.actions} />
        <Field name="operator" label={t.operator} options="owners" />
        <Owners />
        <Day name="start" label={t.from} />
        <Day name="end" label={t.until} />
        <Field name="lead" label={words.lead.label} />
      </div>
      <Pending query={list} rows={9} />
      {list.nodes?.length === 0 && <Empty title={t.none} />}
      {!!list.nodes?.length && <section class="card"><History entries={list.nodes} /></section>}
      {list.hasMore && <More load={list.more} />}
    </Page>
  );
}

/** The entries as sentences. Lists that an operator read one after the other are one sentence, which can be unfolded. */
export function History({ entries }: { entries: readonly Entry[] }) {
  const groups: [Entry, ...Entry[]][] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    const repeats = last && entry.action === "LISTED" && last[0].action === "LISTED" && last[0].name === entry.name;
    if (repeats) last.push(entry);
    else groups.push([entry]);
  }
  return (
    <ol class="reasons">
      {groups.map(([first, ...others]) => (
        <li key={first.id}>
          <Sentence of={first} />
          {others.length > 0 && (
            <details>
              <summary>{words.audit.more(count(others.length))}</summary>
              <ol>
                {others.map((entry) => (
                  <li key={entry.id}><Sentence of={entry} /></li>
                ))}
              </ol>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

const Sentence = ({ of: { at, name, action, lead, detail } }: { of: Entry }) => (
  <>
    <time dateTime={at}>{exact(at)}</time> <bdi>{name}</bdi> {words.audit.actions[action]}
    {lead && ` ${lead.slice(0, 8).toUpperCase()}`}
    {detailWords(detail as Detail, ": ")}
  </>
);

interface Detail {
  owner?: string;
  corrected?: boolean;
  purpose?: string;
  count?: number;
  of?: string;
  searched?: boolean;
  amount?: number;
  currency?: string;
  [other: string]: unknown;
}

/** The details of an entry in words, after some text if there are any. Others than the known ones keep their names. */
function detailWords(detail: Detail, before: string): string {
  const { owner, corrected, purpose, count: n, of, searched, amount, ...others } = detail;
  const t = words.audit;
  const values: Record<string, string> = { ...words.leadStates, ...words.statuses, ...words.targets, ...words.outcomes };
  const named = (name: string, value: unknown) => values[String(value)] ?? `${name} ${value}`;
  const details = [
    owner === "" ? t.toNobody : owner,
    corrected && t.corrected,
    purpose,
    n !== undefined && plural(n, of === "deliveries" ? words.nouns.deliveries : words.nouns.leads),
    of && of !== "deliveries" && translate(of),
    searched && t.searched,
    amount !== undefined && amountText(amount, detail.currency ?? "EUR"),
    ...Object.entries(others).filter(([name]) => amount === undefined || name !== "currency").map(([name, value]) => (name in words.nouns ? items(Number(value), name) : named(name, value))),
  ];
  const text = details.filter(Boolean).join(", ");
  return text && before + text;
}
