// The progress of visitors, by week and language, and their choices.
import type { ComponentChildren } from "preact";
import { FunnelDocument, type FunnelQuery, type FunnelStepName, type Locale } from "../generated/inbox";
import { typed } from "./filters";
import { amount, count, dayText, languageName, languages, midnightOf, percent, periodStart, plural, shortDay } from "./format";
import { useLabel } from "./labels";
import { Empty, Page, Pending, Select } from "./parts";
import { useQuery } from "./service";
import { words } from "./words";

type Funnel = FunnelQuery["funnel"];

/** The periods of the funnel except the default one. */
function otherPeriods(): Record<string, string> {
  const { "7d": week, "30d": month, "365d": year, all } = words.periods;
  return { "7d": week, "30d": month, "365d": year, all };
}

export function Funnel({ params }: { params: Record<string, string> }) {
  const locale = typed<Locale>(params.locale);
  const touch = params.touch === "FIRST" ? "FIRST" : "LAST";
  const query = useQuery(FunnelDocument, { since: periodStart(params.since ?? "90d"), locale, touch });
  const funnel = query.data?.funnel;
  const visited = funnel?.steps[0]?.count;
  return (
    <Page
      view="funnel"
      intro={words.funnel.intro}
      tools={
        <div class="filters">
          <Select name="since" label={words.list.period} all={words.periods["90d"]} options={otherPeriods()} />
          <Select name="locale" label={words.list.language} all={words.list.anyLanguage} options={languages()} />
          <Select
            name="touch"
            label={words.funnel.touch}
            all={words.funnel.lastTouch}
            options={{ FIRST: words.funnel.firstTouch }}
          />
        </div>
      }
    >
      <Pending query={query} rows={6} />
      {funnel && (
        <div class="charts" aria-busy={query.loading}>
          {visited ? <Charts funnel={funnel} locale={locale} /> : <Empty title={words.funnel.none} />}
          {funnel.untracked > 0 && (
            <p class="muted">{words.funnel.untracked(count(funnel.untracked), plural(funnel.leads, words.nouns.leads))}</p>
          )}
          {funnel.sources.length > 0 && <Sources sources={funnel.sources} />}
        </div>
      )}
    </Page>
  );
}

/** The charts. Only leads have a language, so charts by language show no visitors. */
function Charts({ funnel, locale }: { funnel: Funnel; locale: Locale | null }) {
  const label = useLabel();
  const { week, visitors, requests, share } = words.funnel;
  const first = funnel.steps[0]?.count || 1;
  const weeks = grouped(funnel.weeks, (week) => week.start);
  const mostVisited = most(weeks.map((week) => week.visited));
  const mostSubmitted = most(weeks.map((week) => week.submitted));
  const spoken = grouped(funnel.weeks, (week) => week.locale ?? "").filter((row) => row.key);
  const mostSpoken = most(spoken.map((row) => row.submitted));
  const byWeek = weeks.map(({ key, visited, submitted }) =>
    locale
      ? { name: <Week start={key} />, part: submitted / mostSubmitted, cells: [count(submitted)] }
      : {
          name: <Week start={key} />,
          whole: visited / mostVisited,
          part: submitted / mostVisited,
          cells: [count(visited), count(submitted), visited ? percent(submitted / visited) : "–"],
        },
  );
  return (
    <>
      {!locale && (
        <Chart
          title={words.funnel.fromFirst}
          columns={[words.funnel.step, words.funnel.visitors, words.funnel.wentOn]}
          rows={funnel.steps.map((step) => ({
            name: words.funnel.steps[step.name],
            part: step.count / first,
            cells: [count(step.count), step.conversion === null ? "" : percent(step.conversion)],
          }))}
        />
      )}
      <Chart
        title={words.funnel.byWeek}
        columns={locale ? [week, requests] : [week, visitors, requests, share]}
        rows={byWeek}
      />
      {!locale && spoken.length > 0 && (
        <Chart
          title={words.funnel.byLanguage}
          columns={[words.list.language, requests]}
          rows={spoken.map(({ key, submitted }) => ({
            name: languageName(key as Locale),
            part: submitted / mostSpoken,
            cells: [count(submitted)],
          }))}
        />
      )}
      {Object.entries(words.funnel.choices).map(([field, title]) => {
        const choices = funnel.choices.filter((choice) => choice.field === field).slice(0, 8);
        const rows = choices.map((choice) => ({
          name: label(field, choice.value),
          whole: choice.count / most(choices.map((c) => c.count)),
          cells: [count(choice.count)],
        }));
        return rows.length > 0 && (
          <Chart key={field} title={title} columns={[words.funnel.choice, visitors]} rows={rows} half />
        );
      })}
    </>
  );
}

/** The sources of visitors, and their results. */
function Sources({ sources }: { sources: Funnel["sources"] }) {
  const { source, visitors, estimates, requests, worth } = words.funnel;
  const mostSessions = most(sources.map((row) => row.sessions));
  return (
    <Chart
      title={words.funnel.sources}
      columns={[source, visitors, estimates, requests, worth, words.outcomes.WON]}
      rows={sources.map((row) => ({
        name: [row.source || words.notKnown, row.campaign].filter(Boolean).join(" · "),
        whole: row.sessions / mostSessions,
        part: row.leads / mostSessions,
        cells: [
          count(row.sessions),
          count(row.estimates),
          count(row.leads),
          amounts(row.sums),
          amounts(row.won),
        ],
      }))}
    />
  );
}

export const amounts = (sums: Funnel["sources"][number]["sums"]) =>
  sums.map((sum) => amount(sum.amount, sum.currency)).join(", ") || "–";

export const most = (counts: number[]) => Math.max(...counts, 1);

/** Adds up the visitors and the requests of weeks with the same key. */
function grouped(weeks: Funnel["weeks"], keyOf: (week: Funnel["weeks"][number]) => string) {
  const rows = new Map<string, { key: string; visited: number; submitted: number }>();
  for (const week of weeks) {
    const reached = (name: FunnelStepName) => week.steps.find((step) => step.name === name)?.count ?? 0;
    const key = keyOf(week);
    const row = rows.get(key) ?? { key, visited: 0, submitted: 0 };
    row.visited += reached("VISITED");
    row.submitted += reached("SUBMITTED");
    rows.set(key, row);
  }
  return [...rows.values()];
}

function Week({ start }: { start: string }) {
  const monday = new Date(start);
  const sunday = new Date(midnightOf(dayText(monday), 6) ?? start);
  return (
    <>
      {shortDay(monday)}
      <span class="end"> – {shortDay(sunday)}</span>
    </>
  );
}

interface ChartProps {
  title: string;
  /** The headings of the names and of the cells. */
  columns: string[];
  rows: {
    name: ComponentChildren;
    /** Length of the bar and of its darker part, from 0 to 1. */
    whole?: number;
    part?: number;
    cells: ComponentChildren[];
  }[];
  half?: boolean;
}

/** A bar chart as a table, so that it is accessible to screen readers. */
export function Chart({ title, columns: [first, ...columns], rows, half }: ChartProps) {
  return (
    <section class={half ? "card half" : "card"}>
      <h2>{title}</h2>
      <table class={`chart${rows[0]?.whole && rows[0].part !== undefined ? " both" : ""}${columns.length > 4 ? " many" : ""}`}>
        <thead>
          <tr>
            <th scope="col">{first}</th>
            <td class="wide" />
            {columns.map((column) => (
              <th key={column} scope="col">{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              <th scope="row">{row.name}</th>
              <td class="wide">
                <svg class="bar" aria-hidden="true">
                  <rect class="track" width="100%" height="100%" rx="4" />
                  <rect class="whole" width={length(row.whole)} height="100%" rx="4" />
                  <rect class="part" width={length(row.part)} height="100%" rx="4" />
                </svg>
              </td>
              {row.cells.map((cell, column) => (
                <td key={column} data-column={columns[column]} translate={false}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const length = (share = 0) => `${share > 0 ? Math.max(share * 100, 0.8) : 0}%`;
