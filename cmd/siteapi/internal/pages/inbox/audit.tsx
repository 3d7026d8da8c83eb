// What operators did with leads, for admins, and the history of one lead.
import { AuditDocument, type OneEntryFragment as Entry } from "../generated/inbox";
import { More } from "./leads";
import { Empty, Pending } from "./parts";
import { useList } from "./service";
import { auditActions, exact } from "./words";

const pageSize = 100;

export function Audit() {
  const list = useList(AuditDocument, { first: pageSize }, (data) => data.audit);
  return (
    <main class="page">
      <div class="heading">
        <div>
          <h1>Audit</h1>
          <p class="muted">
            What was done with leads, and by whom. <code>siteapi audit verify</code> checks that nothing was changed.
          </p>
        </div>
        <button type="button" onClick={list.reload} disabled={list.loading}>Look again</button>
      </div>
      <Pending query={list} rows={9} />
      {list.nodes?.length === 0 && <Empty title="Nothing was done yet" />}
      {!!list.nodes?.length && <section class="card"><History entries={list.nodes} /></section>}
      {list.hasMore && <More load={list.more} />}
    </main>
  );
}

export const History = ({ entries }: { entries: readonly Entry[] }) => (
  <ol class="reasons">
    {entries.map((entry) => (
      <li key={entry.id}>
        <time dateTime={entry.at}>{exact(entry.at)}</time> <bdi>{entry.actor}</bdi>{" "}
        {auditActions[entry.action]}
        {entry.lead && ` ${entry.lead.slice(0, 8).toUpperCase()}`}{" "}
        {entry.detail !== "{}" && <code>{entry.detail}</code>}
      </li>
    ))}
  </ol>
);
