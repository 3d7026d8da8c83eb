// Files with data of leads: the workbook of a list, and the data of a person.
import { LeadCountsDocument, LeadFileDocument, type LeadFilter, type LeadSort, PersonFileDocument } from "../generated/inbox";
import { dayText } from "./format";
import { toast } from "./parts";
import { ask, type Failure } from "./service";
import { language } from "./words";

/**
 * Downloads a workbook with all matching leads. The list is asked for first, as a download has no way to say that the login
 * has ended or the filter is refused.
 */
export async function saveWorkbook(filter: LeadFilter, sort: LeadSort) {
  try {
    await ask(LeadCountsDocument, { filter });
  } catch (e) {
    return toast({ text: (e as Failure).message, tone: "bad" });
  }
  const link = document.createElement("a");
  link.href = workbookOf(filter, sort);
  link.download = "";
  link.click();
}

/** The address of a workbook. Its parameters are the arguments of `siteapi leads export`. */
function workbookOf({ projectType: project, ...others }: LeadFilter, sort: LeadSort): string {
  const params = new URLSearchParams({ sort, language });
  for (const [name, value] of Object.entries({ project, ...others })) {
    for (const each of [value].flat()) {
      if (each !== null && each !== undefined) params.append(name, String(each));
    }
  }
  return `/admin/leads.xlsx?${params}`;
}

/** Saves all that is stored about a person as JSON. */
export async function savePerson(email: string) {
  const { person } = await ask(PersonFileDocument, { email });
  const leads = [];
  for (const { id } of person.leads) leads.push((await ask(LeadFileDocument, { id })).lead); // one response has room for few
  const file = new Blob([JSON.stringify({ ...person, leads }, null, 2)], { type: "application/json" });
  save(file, `person-${dayText(new Date())}.json`);
}

/** Downloads a file in the browser. */
export function save(blob: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
