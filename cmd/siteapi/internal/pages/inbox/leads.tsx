// The list of leads, and the open lead next to it.
import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { LeadCountsDocument, LeadsDocument, type ListedLeadFragment as Lead, type NoMailReason } from "../generated/inbox";
import { useChanges } from "./changes";
import { saveWorkbook } from "./export";
import { clearFilters, type Filter, filterOf, Filters, narrows, type Params, sortOf } from "./filters";
import { clock, count, day, plural } from "./format";
import { useLabel } from "./labels";
import { LeadDetail } from "./lead";
import { useReachable } from "./live";
import { Avatar, Chip, Empty, Estimate, FullName, Icon, More, nameOf, Pending, Time, toast, useNow } from "./parts";
import { address, setParams } from "./route";
import { type Selection, SelectionBar, useSelection } from "./selection";
import { type List, may, useList, useQuery } from "./service";
import { asksForDeletion, mark } from "./states";
import { words } from "./words";
import { remember } from "./work";

const pageSize = 50;

export function Leads({ params }: { params: Params }) {
  const filter = filterOf(params);
  const filtered = narrows(filter);
  const sort = sortOf(params);
  const list = useList(LeadsDocument, { filter, sort, first: pageSize }, (data) => data.leads);
  const counted = useQuery(LeadCountsDocument, { filter });
  const counts = counted.data?.leads.counts;
  const selection = useSelection();
  const pane = useRef<HTMLElement>(null);
  const open = params.lead;
  const close = () => setParams({ lead: undefined });
  const last = useRef(open);
  useEffect(() => {
    const closed = open ? "" : (last.current ?? "");
    pane.current?.querySelector<HTMLElement>(`[data-lead="${CSS.escape(closed)}"]`)?.focus();
    last.current = open;
  }, [open]);
  const reload = () => {
    list.reload();
    counted.reload();
  };
  const showNews = () => {
    pane.current?.querySelector(".scroll")?.scrollTo(0, 0);
    reload();
  };
  const select = (reference: string) => {
    const lead = list.nodes?.find((node) => node.reference === reference);
    if (lead && may("SALES")) selection.toggle(lead);
  };
  useKeys(pane, open, close, select);
  useChanges(async () => {
    const opened = list.nodes?.find((lead) => lead.reference === open);
    await Promise.all([list.renew(opened?.id), counted.refresh()]);
  });
  return (
    <main class={open ? "split open" : "split"}>
      <section class="list" aria-label={words.list.label} ref={pane}>
        <div class="tools">
          <Heading total={counts?.total} filter={filter} params={params} selection={selection} />
          <Filters params={params} counts={counts} />
          <Reachability />
        </div>
        {list.news > 0 && !list.loading && (
          <button type="button" class="news" onClick={showNews}>
            {words.list.news(plural(list.news, words.nouns.newLeads))}
          </button>
        )}
        <Rows list={list} params={params} filtered={filtered} selection={selection} />
        {selection.chosen && (
          <SelectionBar selection={selection} total={counts?.total} filter={filter} params={params} changed={reload} />
        )}
      </section>
      <section class="detail" aria-label={words.lead.label}>
        {open ? (
          <LeadDetail key={open} id={open} close={close} update={list.replace} erased={reload} />
        ) : (
          <Empty title={words.list.choose}><Keys /></Empty>
        )}
      </section>
    </main>
  );
}

/** Reports that the service is unreachable, and that it is reachable again. */
function Reachability() {
  const reachable = useReachable();
  const before = useRef(reachable);
  useEffect(() => {
    if (reachable && !before.current) toast({ text: words.list.reachableAgain, tone: "good" });
    before.current = reachable;
  }, [reachable]);
  return <p role="status" class="offline">{!reachable && words.list.unreachable}</p>;
}

interface HeadingProps {
  total: number | undefined;
  filter: Filter;
  params: Params;
  selection: Selection;
}

function Heading({ total, filter, params, selection }: HeadingProps) {
  return (
    <div class="heading">
      <h1>
        {words.views.leads} <span class="muted total">{total !== undefined && count(total)}</span>
      </h1>
      {may("SALES") && (
        <div class="actions">
          {!selection.chosen && <button type="button" onClick={selection.begin}>{words.selection.begin}</button>}
          <button type="button" onClick={() => saveWorkbook(filter, sortOf(params))} title={words.list.workbookHint}>
            <Icon name="save" /> Excel
          </button>
        </div>
      )}
    </div>
  );
}

const keyNames = () => {
  const { keys } = words.list;
  const shown = [["j", "k", keys.move], ["Enter", keys.open], ["/", keys.search], ["x", keys.select], ["Esc", keys.close]];
  const whileReading = [["a", words.work.assignToMe], ["r", keys.reply], ["?", keys.help]];
  return may("SALES") ? [...shown, ...whileReading] : shown;
};

function Keys() {
  return (
    <p class="keys">
      {keyNames().map((names, i) => (
        <Fragment key={i}>
          {i > 0 && " · "}
          {names.slice(0, -1).map((name) => (
            <Fragment key={name}>
              <kbd>{name}</kbd>{" "}
            </Fragment>
          ))}
          {names.at(-1)}
        </Fragment>
      ))}
    </p>
  );
}

const showKeys = () => toast({ text: keyNames().map((names) => names.join(" ")).join(" · "), tone: "quiet" });

interface RowsProps {
  list: List<Lead>;
  params: Params;
  filtered: boolean;
  selection: Selection;
}

function Rows({ list, params, filtered, selection }: RowsProps) {
  const now = useNow();
  if (!list.nodes) return <Pending query={list} rows={9} />;
  if (list.nodes.length === 0) {
    return filtered ? (
      <Empty title={words.list.noneFits}>
        <button type="button" onClick={clearFilters}>{words.list.showAll}</button>
      </Empty>
    ) : (
      <Empty title={words.list.none} hint={words.list.noneHint} />
    );
  }
  const byTime = ["NEWEST", "OLDEST"].includes(sortOf(params));
  let shown = "";
  return (
    <div class="scroll" aria-busy={list.loading}>
      <Pending query={list} rows={0} />
      <ul class="rows">
        {list.nodes.map((lead) => {
          const heading = byTime ? day(lead.submittedAt, now) : "";
          const first = heading !== shown;
          shown = heading;
          return (
            <Fragment key={lead.id}>
              {first && <li class="day">{heading}</li>}
              <Row lead={lead} params={params} now={now} byTime={byTime} selection={selection} />
            </Fragment>
          );
        })}
      </ul>
      {list.hasMore && <More load={list.more} />}
    </div>
  );
}

/** Why a lead has no mail without anything being wrong with it. */
const expectedReasons: NoMailReason[] = ["IN_REVIEW", "LEAD_REJECTED", "NO_MAIL_SERVER", "VISITOR_MAIL_OFF"];

interface RowProps {
  lead: Lead;
  params: Params;
  now: number;
  byTime: boolean;
  selection: Selection;
}

function Row({ lead, params, now, byTime, selection }: RowProps) {
  const { contact, reference, owner } = lead;
  const name = nameOf(lead);
  const label = useLabel();
  const isOlder = byTime && day(lead.submittedAt, now) !== words.today;
  remember(owner);
  return (
    <li class={selection.chosen ? "selectable" : ""}>
      {selection.chosen && (
        <input
          type="checkbox"
          aria-label={words.selection.one(`${name.firstName} ${name.lastName}`)}
          checked={selection.chosen.has(lead.id)}
          onChange={() => selection.toggle(lead)}
        />
      )}
      <a
        class="row"
        data-lead={reference}
        href={address("leads", { ...params, lead: reference })}
        aria-current={params.lead === reference ? "true" : undefined}
      >
        <Avatar of={name} />
        <strong><FullName of={name} /></strong>
        <span class="muted">
          <Time at={lead.submittedAt} now={now} {...(isOlder && { text: clock(lead.submittedAt) })} />
        </span>
        <span class="muted"><bdi>{contact?.company || contact?.email}</bdi></span>
        <span><Estimate of={lead.estimate} /></span>
        <span class="muted">
          {[label("projectType", lead.selections.projectType), lead.locale?.toUpperCase(), owner?.split("@")[0]].filter(Boolean).join(" · ")}
        </span>
        <span class="marks">
          {asksForDeletion(lead) && <Chip text={words.lead.deletionRequested} tone="bad" />}
          {lead.noMailReason && !expectedReasons.includes(lead.noMailReason) && <Chip text={words.lead.noMail} tone="bad" />}
          {lead.followUpAt && Date.parse(lead.followUpAt) <= now && <Chip text={words.list.due} tone="bad" />}
          {lead.state !== "DELIVERED" && <Chip {...mark(words.leadStates, lead.state)} />}
          {lead.status !== "NEW" && <Chip text={words.statuses[lead.status]} tone="quiet" />}
        </span>
        {lead.message && <span class="muted excerpt" dir="auto">{lead.message.slice(0, 120)}</span>}
      </a>
    </li>
  );
}

/**
 * Keys of the list: / searches, j and k or the arrows move, x selects, Escape closes the open lead. While a lead is read,
 * j and k open the next and the previous one, a assigns it to the operator, and r replies.
 */
function useKeys(
  pane: { current: HTMLElement | null },
  open: string | undefined,
  close: () => void,
  select: (reference: string) => void,
) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const on = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || on.closest("dialog, select, textarea")) return;
      const search = pane.current?.querySelector<HTMLInputElement>("[type=search]");
      if (on instanceof HTMLInputElement && on !== search && on.type !== "checkbox") return;
      const rows = [...(pane.current?.querySelectorAll<HTMLElement>(".row") ?? [])];
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key] ?? 0;
      const typing = on === search;
      if (event.key === "Escape" && typing) search?.blur();
      else if (event.key === "Escape" && open) close();
      else if (event.key === "/" && !typing) search?.select();
      else if (event.key === "x" && on.dataset.lead) select(on.dataset.lead);
      else if (step && rows.length && !(typing && event.key.length === 1)) {
        const at = rows.findIndex((row) => (on.closest(".row") ?? pane.current?.querySelector("[aria-current]")) === row);
        const row = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
        if (open && event.key.length === 1 && !on.closest(".row")) setParams({ lead: row?.dataset.lead }, true);
        else row?.focus();
      } else if (event.key === "?" && !typing) showKeys();
      else if (open && !typing && /^[ar]$/.test(event.key)) {
        document.querySelector<HTMLElement>(`.detail [data-key=${event.key}]`)?.click();
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}
