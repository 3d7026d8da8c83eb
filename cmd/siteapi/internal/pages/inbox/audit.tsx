// What operators did with leads, for admins, and the history of one lead.
import { AuditDocument, type OneEntryFragment as Entry } from "../generated/inbox";
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
        <time dateTime={entry.at}>{exact(entry.at)}</time> <bdi>{entry.actor}</bdi>{" "}
        {words.audit.actions[entry.action]}
        {entry.lead && ` ${entry.lead.slice(0, 8).toUpperCase()}`}{" "}
        {entry.detail !== "{}" && <code>{entry.detail}</code>}
      </li>
    ))}
  </ol>
);
