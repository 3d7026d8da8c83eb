// The filters and the order of the list of leads. They are stored in the URL of the page.
import { useEffect, useState } from "preact/hooks";
import type { LeadCountsQuery, LeadFilter, LeadResult, LeadSort } from "../generated/inbox";
import { count, languages, midnightOf, periodStart, periods } from "./format";
import { useChoices } from "./labels";
import { Icon, Select } from "./parts";
import { readRoute, setParams } from "./route";
import { may, ownAddress } from "./service";
import { known, words } from "./words";
import { Owners } from "./work";

export type Params = Record<string, string>;
export type Filter = LeadFilter;
type Counts = LeadCountsQuery["leads"]["counts"];

/** The parameters below "More filters". */
const hidden = ["owner", "free", "locale", "result", "quick", "source", "unknown", "campaign", "direct", "project", "consent", "start", "end", "from", "to", "currency"] as const;

/** The parameters that narrow the list. */
const narrowing = ["search", "state", "status", "since", "deletion", "due", ...hidden];

/** Shows all leads. */
export const clearFilters = () => setParams(Object.fromEntries(narrowing.map((name) => [name, ""])));

/** Reads the filter from the URL of the page. Values are passed on as they are, so that the service refuses a wrong one. */
export function filterOf(params: Params): Filter {
  return {
    search: params.search?.trim() || null,
    state: typed(params.state),
    status: typed(params.status),
    owner: params.free ? "" : params.owner?.trim() || null,
    locale: typed(params.locale),
    source: params.unknown ? "" : params.source?.trim() || null,
    campaign: params.direct ? "" : params.campaign?.trim() || null,
    projectType: typed(params.project?.toLowerCase()),
    consent: typed(params.consent?.toLowerCase()),
    deletionRequested: params.deletion ? true : null,
    due: params.due ? true : null,
    results: resultsOf(params.result),
    answeredWithinDay: params.quick ? true : null,
    currency: typed(params.currency?.toUpperCase()),
    amountFrom: amountOf(params.from),
    amountTo: amountOf(params.to),
    since: [periodStart(params.since) ?? typed(params.since), timeOf(params.start)].filter((time) => time !== null).sort().at(-1) ?? null,
    until: timeOf(params.end, 1),
  };
}

/** The results that a choice stands for; null: any lead. */
function resultsOf(choice: string | undefined): LeadResult[] | null {
  const result = typed<LeadResult | "ALL">(choice);
  return result === "ALL" ? ["OPEN", "WON", "LOST"] : result && [result];
}

export const sortOf = (params: Params): LeadSort => known(words.sorts, params.sort) ?? "NEWEST";

/** Whether a filter is active. */
export const narrows = (filter: Filter) => Object.values(filter).some((value) => value !== null);

const currencies = Intl.supportedValuesOf("currency");

/** A value from the URL of the page; null: none. The service checks it. */
export const typed = <T extends string>(text: string | undefined) => (text?.trim() || null) as T | null;

/** The start of a day from the URL of the page, or of the day some days later. The service refuses what is no day. */
export const timeOf = (text: string | undefined, later = 0) => midnightOf(text, later) ?? typed(text);

/** An amount from the URL of the page. What is no number becomes one that the service refuses. */
function amountOf(text: string | undefined): number | null {
  const amount = Number(text?.trim());
  return text?.trim() ? (Number.isFinite(amount) ? amount : -1) : null;
}

/** The names of choices, with the number of their leads if it is known. */
function counted<K extends string>(names: Record<K, string>, numbers: Map<string, number>): Record<string, string> {
  const entries = Object.entries<string>(names);
  return Object.fromEntries(
    entries.map(([key, text]) => [key, numbers.has(key) ? `${text} (${count(numbers.get(key) ?? 0)})` : text]),
  );
}

export function Filters({ params, counts }: { params: Params; counts: Counts | undefined }) {
  const states = new Map(counts?.states.map((row) => [row.state, row.count]));
  const statuses = new Map(counts?.statuses.map((row) => [row.status, row.count]));
  const set = hidden.filter((name) => params[name]).length;
  const [opened, setOpened] = useState(set > 0); // clearing the last filter does not close the panel
  const own = ownAddress();
  const { list, work } = words;
  return (
    <>
      <Search value={params.search ?? ""} />
      <div class="filters">
        <Select name="state" label={list.state} all={list.anyState} options={counted(words.leadStates, states)} />
        <Select name="status" label={work.status} all={list.anyStatus} options={counted(words.statuses, statuses)} />
        <Select name="since" label={list.period} all={list.anyTime} options={periods()} />
      </div>
      {(params.due || !!counts?.due) && <Check name="due" label={`${list.due} (${count(counts?.due ?? 0)})`} />}
      {(params.deletion || !!counts?.deletionRequests) && (
        <Check name="deletion" label={`${words.lead.deletionRequested} (${count(counts?.deletionRequests ?? 0)})`} />
      )}
      <details class="narrow" open={opened} onToggle={(e) => setOpened(e.currentTarget.open)}>
        <summary>{set ? `${list.moreFilters} (${count(set)})` : list.moreFilters}</summary>
        <div class="fields">
          <Select name="sort" label={list.sort} all={words.sorts.NEWEST} options={otherSorts()} />
          <Select name="locale" label={list.language} all={list.anyLanguage} options={languages()} />
          <Field name="owner" label={work.owner} options="owners" />
          <Owners />
          <Check name="free" label={list.free} />
          {own && (
            <label class="check">
              <input
                type="checkbox"
                checked={params.owner === own}
                onChange={(e) => setParams({ owner: e.currentTarget.checked ? own : "", free: "" })}
              />
              {list.mine}
            </label>
          )}
          <Select name="result" label={words.outcome.title} all={list.anyResult} options={words.results} />
          <Check name="quick" label={list.quick} />
          <Field name="source" label={words.origin.source} />
          <Check name="unknown" label={list.unknownSource} />
          {may("SALES") && (
            <>
              <Field name="campaign" label={words.origin.campaign} />
              <Check name="direct" label={list.noCampaign} />
              <Field name="consent" label={list.consent} />
            </>
          )}
          <Select
            name="project"
            label={words.lead.fields.projectType}
            all={list.anyProject}
            options={useChoices("projectType")}
          />
          <datalist id="currencies">
            {currencies.map((code) => (
              <option key={code} value={code} />
            ))}
          </datalist>
          <Day name="start" label={list.submittedFrom} />
          <Day name="end" label={list.submittedUntil} />
          <Field name="from" label={list.amountFrom} type="number" />
          <Field name="to" label={list.amountTo} type="number" />
          <Field name="currency" label={words.outcome.currency} options="currencies" />
        </div>
      </details>
    </>
  );
}

/** The orders of the list except the default one. */
function otherSorts(): Record<string, string> {
  const { NEWEST: _, ...others } = words.sorts;
  return others;
}

interface FieldProps {
  /** The parameter in the URL. */
  name: string;
  label: string;
  type?: "text" | "number";
  /** Id of the list of options. */
  options?: string;
}

/** A text filter. It takes effect with Enter, or when the field loses the focus. */
export function Field({ name, label, type = "text", options }: FieldProps) {
  const value = readRoute().params[name] ?? "";
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <input
      type={type}
      aria-label={label}
      placeholder={label}
      class={value ? "set" : ""}
      maxLength={254}
      min="0"
      {...(options && { list: options })}
      value={text}
      onInput={(e) => setText(e.currentTarget.value)}
      onChange={(e) => setParams({ [name]: e.currentTarget.value.trim() })}
    />
  );
}

/** A filter that is on or off. */
function Check({ name, label }: Pick<FieldProps, "name" | "label">) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={!!readRoute().params[name]}
        onChange={(e) => setParams({ [name]: e.currentTarget.checked ? "yes" : "" })}
      />
      {label}
    </label>
  );
}

/** A date filter. Browsers show no placeholder in it, so its name is above it. */
export function Day({ name, label }: Pick<FieldProps, "name" | "label">) {
  const value = readRoute().params[name] ?? "";
  return (
    <label class="date">
      <span>{label}</span>
      <input
        type="date"
        class={value ? "set" : ""}
        max="9999-12-31"
        value={value}
        onChange={(e) => setParams({ [name]: e.currentTarget.value })}
      />
    </label>
  );
}

/** The search field. It updates the list while the operator types. */
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
        aria-label={words.list.search}
        placeholder={may("SALES") ? words.list.searchHint : words.list.reference}
        maxLength={200}
        spellcheck={false}
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
      />
    </label>
  );
}
