// The audit of the operators' actions, for admins, and the history of one lead.
import {
  AuditDocument,
  type DeliveryTarget,
  type LeadOutcomeValue,
  type LeadStatus,
  type OneEntryFragment as Entry,
} from "../generated/inbox";
import { exact } from "./format";
import { Empty, More, Pending } from "./parts";
import { useList } from "./service";
import { words } from "./words";

const pageSize = 100;

export function Audit() {
  const list = useList(AuditDocument, { first: pageSize }, (data) => data.audit);
  return (
    <main class="page">
      <div class="heading">
        <div>
          <h1>{words.views.audit}</h1>
          <p class="muted">
            {words.audit.intro} <code>siteapi audit verify</code> {words.audit.verify}
          </p>
        </div>
        <button type="button" onClick={list.reload} disabled={list.loading}>{words.audit.again}</button>
      </div>
      <Pending query={list} rows={9} />
      {list.nodes?.length === 0 && <Empty title={words.audit.none} />}
      {!!list.nodes?.length && <section class="card"><History entries={list.nodes} /></section>}
      {list.hasMore && <More load={list.more} />}
    </main>
  );
}

export const History = ({ entries }: { entries: readonly Entry[] }) => (
  <ol class="reasons">
    {entries.map((entry) => (
      <li key={entry.id}>
        <time dateTime={entry.at}>{exact(entry.at)}</time> <bdi>{entry.name}</bdi>{" "}
        {words.audit.actions[entry.action]}
        {entry.lead && ` ${entry.lead.slice(0, 8).toUpperCase()}`}
        <Detail text={entry.detail} />
      </li>
    ))}
  </ol>
);

/** The details of an entry, in words for changes of a single lead. */
function Detail({ text }: { text: string }) {
  const { owned, status, target, corrected, outcome, purpose, ...others } = JSON.parse(text);
  const details = [
    owned !== undefined && (owned ? words.audit.toSomebody : words.audit.toNobody),
    words.statuses[status as LeadStatus],
    words.targets[target as DeliveryTarget],
    corrected && words.audit.corrected,
    words.outcomes[outcome as LeadOutcomeValue],
    purpose,
  ].filter(Boolean);
  const rest = Object.keys(others).length > 0 && <code>{JSON.stringify(others)}</code>;
  return <>{details.length > 0 && `: ${details.join(", ")}`} {rest}</>;
}
