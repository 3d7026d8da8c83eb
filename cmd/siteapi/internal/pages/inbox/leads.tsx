// The list of leads, newest first, with the one that is open beside it.
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { LeadsDocument, type LeadsQuery } from "../generated/inbox";
import { exportLeads } from "./export";
import { useLabel } from "./labels";
import { LeadDetail } from "./lead";
import { Avatar, Chip, Empty, FullName, Icon, nameOf, Pending, Select, Time, useNow } from "./parts";
import { address, setParams } from "./route";
import { type List, may, useList } from "./service";
import { clock, day, known, languages, leadStates, money, periodStart, periods, texts } from "./words";

const pageSize = 50;
type Lead = LeadsQuery["leads"]["edges"][number]["node"];
type Params = Record<string, string>;

const stateNames = texts(leadStates);

/** What the service is asked for, from the address of the page. */
function variablesOf({ search, state, locale, since }: Params) {
  return {
    search: search?.trim() || null,
    state: known(leadStates, state),
    locale: known(languages, locale),
    since: periodStart(since),
  };
}

export function Leads({ params, newest, changed }: { params: Params; newest: string | undefined; changed: () => void }) {
  const variables = variablesOf(params);
  const filtered = Object.values(variables).some(Boolean);
  const list = useList(LeadsDocument, { ...variables, first: pageSize }, (data) => data.leads);
  const pane = useRef<HTMLElement>(null);
  const open = params.lead;
  const close = () => setParams({ lead: undefined });
  const last = useRef(open);
  useEffect(() => {
    const closed = open ? "" : (last.current ?? "");
    pane.current?.querySelector<HTMLElement>(`[data-lead="${CSS.escape(closed)}"]`)?.focus();
    last.current = open;
  }, [open]);
  const erased = () => {
    close();
    list.reload();
    changed();
  };
  useKeys(pane, open, close);
  const hasNew = !filtered && newest && list.nodes && list.nodes.every((lead) => lead.reference !== newest);
  return (
    <main class={open ? "split open" : "split"}>
      <section class="list" aria-label="List of leads" ref={pane}>
        <div class="tools">
          <div class="heading">
            <h1>Leads</h1>
            {may("SALES") && (
              <button type="button" onClick={() => exportLeads(variables)} title="Save what is listed as a table for Excel">
                <Icon name="save" /> Export
              </button>
            )}
          </div>
          <Search value={params.search ?? ""} />
          <div class="filters">
            <Select name="state" label="State" all="Any state" options={stateNames} params={params} />
            <Select name="locale" label="Language" all="Any language" options={languages} params={params} />
            <Select name="since" label="Period" all="Any time" options={periods} params={params} />
          </div>
        </div>
        {hasNew && !list.loading && (
          <button type="button" class="news" onClick={list.reload}>There are new leads. Show them</button>
        )}
        <Rows list={list} params={params} filtered={filtered} />
      </section>
      <section class="detail" aria-label="Lead">
        {open ? (
          <LeadDetail key={open} id={open} close={close} update={list.replace} changed={changed} erased={erased} />
        ) : (
          <Empty title="Choose a lead to read it">
            <p class="keys">
              <kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> opens · <kbd>/</kbd> searches · <kbd>Esc</kbd> closes
            </p>
          </Empty>
        )}
      </section>
    </main>
  );
}

/** The field to search in. The list follows as one types. */
function Search({ value }: { value: string }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => setParams({ search: text }, true), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label="Search leads"
        placeholder={may("SALES") ? "Name, company, e-mail, phone, reference" : "Reference"}
        maxLength={200}
        spellcheck={false}
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
      />
    </label>
  );
}

function Rows({ list, params, filtered }: { list: List<Lead>; params: Params; filtered: boolean }) {
  const now = useNow();
  if (!list.nodes) return <Pending query={list} rows={9} />;
  if (list.nodes.length === 0) {
    return filtered ? (
      <Empty title="No lead fits">
        <button type="button" onClick={() => setParams({ search: "", state: "", locale: "", since: "" })}>
          Show all leads
        </button>
      </Empty>
    ) : (
      <Empty title="No leads yet">
        <p class="muted">As soon as a visitor asks for a quote, it shows here.</p>
      </Empty>
    );
  }
  let shown = "";
  return (
    <div class="scroll" aria-busy={list.loading}>
      <Pending query={list} rows={0} />
      <ul class="rows">
        {list.nodes.map((lead) => {
          const heading = day(lead.submittedAt, now);
          const first = heading !== shown;
          shown = heading;
          return (
            <Fragment key={lead.id}>
              {first && <li class="day">{heading}</li>}
              <Row lead={lead} params={params} now={now} today={heading === "Today"} />
            </Fragment>
          );
        })}
      </ul>
      {list.hasMore && <More load={list.more} />}
    </div>
  );
}

function Row({ lead, params, now, today }: { lead: Lead; params: Params; now: number; today: boolean }) {
  const { contact, reference } = lead;
  const name = nameOf(lead);
  const label = useLabel();
  return (
    <li>
      <a
        class="row"
        data-lead={reference}
        href={address("leads", { ...params, lead: reference })}
        aria-current={params.lead === reference ? "true" : undefined}
      >
        <Avatar of={name} />
        <strong><FullName of={name} /></strong>
        <span class="muted">
          <Time at={lead.submittedAt} now={now} {...(!today && { text: clock(lead.submittedAt) })} />
        </span>
        <span class="muted"><bdi>{contact?.company || contact?.email}</bdi></span>
        <span>{money(lead.estimate)}</span>
        <span class="muted">{label("projectType", lead.selections.projectType)}</span>
        {lead.state === "DELIVERED" ? <span /> : <Chip {...leadStates[lead.state]} />}
      </a>
    </li>
  );
}

/** Loads the next page when it comes into view; a button for those who don't scroll. */
export function More({ load }: { load: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const seen = new IntersectionObserver(([entry]) => entry?.isIntersecting && load(), { rootMargin: "400px" });
    if (button.current) seen.observe(button.current);
    return () => seen.disconnect();
  });
  return (
    <button type="button" class="more" ref={button} onClick={load}>Show more</button>
  );
}

/** Keys of the list: / searches, j and k or the arrows move, Escape closes the lead that is open. */
function useKeys(pane: { current: HTMLElement | null }, open: string | undefined, close: () => void) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const on = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || on.closest("dialog, select")) return;
      const search = pane.current?.querySelector<HTMLInputElement>("input");
      const rows = [...(pane.current?.querySelectorAll<HTMLElement>(".row") ?? [])];
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key] ?? 0;
      const typing = on === search;
      if (event.key === "Escape" && typing) search?.blur();
      else if (event.key === "Escape" && open) close();
      else if (event.key === "/" && !typing) search?.select();
      else if (step && rows.length && !(typing && event.key.length === 1)) {
        const at = rows.findIndex((row) => (on.closest(".row") ?? pane.current?.querySelector("[aria-current]")) === row);
        rows[Math.min(Math.max(at + step, 0), rows.length - 1)]?.focus();
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}
