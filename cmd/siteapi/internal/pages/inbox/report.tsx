// The results of leads, by month or another group. Each number opens its leads.
import { type LeadReportGroup, LeadReportDocument, type ReportRowFragment as Row } from "../generated/inbox";
import { count, dayOf, hours, monthName, periodStart } from "./format";
import { amounts, Chart, most } from "./funnel";
import { Empty, Page, Pending, Select } from "./parts";
import { address } from "./route";
import { useQuery } from "./service";
import { known, words } from "./words";

export function Report({ params }: { params: Record<string, string> }) {
  const { groups, intro, none } = words.report;
  const by = known(groups, params.by) ?? "MONTH";
  const query = useQuery(LeadReportDocument, { since: periodStart(params.since ?? "365d"), by });
  const report = query.data?.leadReport;
  const { MONTH: first, ...others } = groups;
  const { "7d": week, "30d": month, "90d": quarter, "365d": year, all } = words.periods;
  return (
    <Page
      view="report"
      intro={intro}
      tools={
        <div class="filters">
          <Select name="by" label={words.report.by} all={first} options={others} />
          <Select
            name="since"
            label={words.list.period}
            all={year}
            options={{ "7d": week, "30d": month, "90d": quarter, all }}
          />
        </div>
      }
    >
      <Pending query={query} rows={6} />
      {report && (
        <div class="charts" aria-busy={query.loading}>
          {report.total.leads ? <Results {...report} /> : <Empty title={none} />}
        </div>
      )}
    </Page>
  );
}

interface Props {
  by: LeadReportGroup;
  groups: readonly Row[];
  total: Row;
}

function Results({ by, groups, total }: Props) {
  const { leads, withinDay, amount, median } = words.report;
  const largest = most(groups.map((row) => row.leads));
  const shown = (row: Row, name: string, filter: Record<string, string> | null) => ({
    name,
    whole: row === total ? 0 : row.leads / largest,
    cells: [
      <Leads n={row.leads} row={row} filter={filter} more={{ result: "ALL" }} />,
      <Leads n={row.answeredWithinDay} row={row} filter={filter} more={{ result: "ALL", quick: "yes" }} />,
      row.medianHoursToAnswer === null ? "–" : hours(row.medianHoursToAnswer),
      <Leads n={row.won} row={row} filter={filter} more={{ result: "WON" }} />,
      <Leads n={row.lost} row={row} filter={filter} more={{ result: "LOST" }} />,
      amounts(row.amounts),
    ],
  });
  return (
    <Chart
      title={words.views.report}
      columns={[words.report.groups[by], leads, withinDay, median, words.outcomes.WON, words.outcomes.LOST, amount]}
      rows={[...groups.map((row) => shown(row, nameOf(by, row), filterOf(by, row))), shown(total, words.report.total, {})]}
    />
  );
}

/** A number of leads, with a link that lists them if a filter selects them. */
function Leads({ n, row, filter, more }: { n: number; row: Row; filter: Record<string, string> | null; more: Record<string, string> }) {
  if (!n || !filter) return <>{count(n)}</>;
  const period = { start: dayOf(row.since), end: dayOf(row.until, 1) };
  return <a href={address("leads", { ...period, ...filter, ...more })}>{count(n)}</a>;
}

const rest = "(others)";

function nameOf(by: LeadReportGroup, { name }: Row): string {
  if (name === rest) return words.report.others;
  if (by === "MONTH") return monthName(name);
  return name || (by === "OWNER" ? words.work.nobody : words.notKnown);
}

/** The parameters of the list that select a group, besides its period; null: none do. */
function filterOf(by: LeadReportGroup, { name }: Row): Record<string, string> | null {
  if (name === rest) return null;
  if (by === "OWNER") return name ? { owner: name } : { free: "yes" };
  if (by === "SOURCE") return name ? { source: name } : { unknown: "yes" };
  if (by === "CAMPAIGN") return name ? { campaign: name } : { direct: "yes" };
  return {};
}
