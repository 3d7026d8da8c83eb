// Visitors who typed an address, agreed that it is kept, and left without asking for a quote.
import { useState } from "preact/hooks";
import { type OneVisitorFragment as Visitor, VisitorsWhoLeftDocument, type VisitorsWhoLeftQuery } from "../generated/inbox";
import { Erase } from "./erase";
import { exact, languageName, money } from "./format";
import { useLabel } from "./labels";
import { Touch } from "./lead";
import { More } from "./leads";
import { Empty, Fact, Pending, Time, useNow } from "./parts";
import { may, useList } from "./service";
import { words } from "./words";

const pageSize = 50;

export function Visitors() {
  const list = useList(VisitorsWhoLeftDocument, { first: pageSize }, (data) => data.visitorsWhoLeft);
  const none = (list.data as VisitorsWhoLeftQuery["visitorsWhoLeft"] | undefined)?.none;
  return (
    <main class="page">
      <div class="heading">
        <div>
          <h1>{words.visitors.title}</h1>
          <p class="muted">{words.visitors.intro}</p>
        </div>
        <button type="button" onClick={list.reload} disabled={list.loading}>{words.visitors.again}</button>
      </div>
      <Pending query={list} rows={4} />
      {none && (
        <Empty title={words.visitors.none}><p class="muted">{words.visitors.reasons[none]}</p></Empty>
      )}
      <div class="stack" aria-busy={list.loading}>
        {list.nodes?.map((visitor) => <VisitorCard key={visitor.id} visitor={visitor} erased={list.reload} />)}
      </div>
      {list.hasMore && <More load={list.more} />}
    </main>
  );
}

function VisitorCard({ visitor, erased }: { visitor: Visitor; erased: () => void }) {
  const [erasing, setErasing] = useState(false);
  const now = useNow();
  const label = useLabel();
  const { email, firstName, selections, estimate, attribution, consentText } = visitor;
  const { fields } = words.lead;
  const chosen = (["projectType", "complexity", "timeline"] as const).filter((field) => selections[field]);
  return (
    <section class="card">
      <h2><bdi>{firstName ?? email}</bdi></h2>
      <Fact name={words.lead.email}><a href={`mailto:${encodeURIComponent(email)}`}>{email}</a></Fact>
      {visitor.locale && <Fact name={words.lead.language}>{languageName(visitor.locale)}</Fact>}
      <Fact name={words.visitors.lastSeen}><Time at={visitor.lastSeenAt} now={now} /></Fact>
      <Fact name={words.visitors.firstSeen}>{exact(visitor.firstSeenAt)}</Fact>
      {estimate && <Fact name={words.lead.price}>{money(estimate)}</Fact>}
      {chosen.map((field) => (
        <Fact key={field} name={fields[field]}>{label(field, selections[field] ?? "")}</Fact>
      ))}
      {selections.features.length > 0 && (
        <Fact name={fields.features}>{selections.features.map((slug) => label("features", slug)).join(", ")}</Fact>
      )}
      <Touch touch={attribution} />
      {JSON.stringify(visitor.firstAttribution) !== JSON.stringify(attribution) && (
        <Touch touch={visitor.firstAttribution} first />
      )}
      {consentText && <Fact name={words.visitors.wording}><bdi class="message">{consentText}</bdi></Fact>}
      {may("ADMIN") && (
        <button type="button" class="plain danger" onClick={() => setErasing(true)}>{words.erase.open}</button>
      )}
      {erasing && <Erase email={email} close={() => setErasing(false)} erased={erased} />}
    </section>
  );
}
