// Tests of the inbox in a real browser. Screenshots are in test/screenshots.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { openBrowser, picture, violations, watchedPage } from "./browser.mjs";
import { answer, blank, button, logIn, openInbox, row, send, submit as submitTo, token, workbook } from "./inbox.mjs";
import { binary, startService } from "../../../../../schema/clients/service.mjs";

const people = [
  { firstName: "Ana", lastName: "Țurcanu", email: "ana@example.com", phone: "+40 721 000 111", company: "Casa Verde" },
  { firstName: "<img src=x onerror=alert(1)>", lastName: "<b>bold</b>", email: "markup@example.com", company: "=1+1" },
  { firstName: "\u05d3\u05d5\u05d3", lastName: "W".repeat(100), email: "long@example.com", company: "x".repeat(100) },
];

let service;
let browser;
before(async () => {
  service = await startService({ ADMIN_PAGE: "on" });
  browser = await openBrowser({ acceptDownloads: true });
  await send(service, "track", { sessionId: "visit-ana", selections: { projectType: "web-app" } });
  for (const contact of people) await submit(contact);
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

const submit = (contact, more = {}, to = service) => submitTo(to, contact, more);
const open = (t, hash = "", context = browser.context, base = service.base) => openInbox(t, context, base, hash);

test("a lead is found while its reference is typed, and opened", async (t) => {
  const tom = { firstName: "Tom", lastName: "Brown", email: "tom+sales@example.com", phone: "+44 20 7946 0018" };
  const reference = await submit(tom);
  const { page, faults } = await open(t);
  await row(page, "Tom Brown").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(reference.toLowerCase());
  await page.waitForURL(/search=/);
  await row(page, "Ana").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.type), "search"); // the focus stays
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Tom Brown" }).waitFor();
  assert.match(page.url(), new RegExp(`lead=${reference}`));
  const mail = await page.getByRole("link", { name: "tom+sales@example.com", exact: true }).getAttribute("href");
  assert.match(mail, /^mailto:tom%2Bsales%40example\.com\?subject=/);
  assert.equal(await page.getByRole("link", { name: "+44 20" }).getAttribute("href"), "tel:+442079460018");
  assert.equal(new URL(mail).searchParams.get("subject"), `Solicitarea dumneavoastră de ofertă ${reference}`);
  await page.getByText("€12,000 – €18,000").first().waitFor();
  await page.getByText("It has arrived.").nth(1).waitFor();

  const [download] = await Promise.all([page.waitForEvent("download"), button(page, "PDF").click()]);
  assert.match(download.suggestedFilename(), new RegExp(`^oferta-${reference.toLowerCase()}\\.pdf$`));
  assert.match((await readFile(await download.path())).toString("latin1", 0, 8), /^%PDF-1/);
  await page.reload(); // the login and the lead stay
  await page.getByRole("heading", { name: "Tom Brown" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("Choose a lead").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Tom Brown" }).waitFor();
  assert.deepEqual(faults, []);
});

test("visitors' text is never interpreted as markup", async (t) => {
  const { page, faults } = await open(t);
  await row(page, "<img").click();
  await page.getByRole("heading", { name: "<img src=x onerror=alert(1)> <b>bold</b>" }).waitFor();
  await row(page, "WWWW").click();
  await page.getByText("Feature 49").waitFor();
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.equal(overflow, 0);
  assert.ok((await picture(page, "inbox-long")).colors > blank);
  assert.deepEqual(faults, []);
});

test("a lead in review is released, another one rejected", async (t) => {
  await submit({ firstName: "Grace", lastName: "Real", email: "grace@example.com" }, { website: "https://example.com" });
  await submit({ firstName: "Robo", lastName: "Spam", email: "spam@example.com" }, { website: "https://example.com" });
  const { page, faults } = await open(t, "#leads?state=IN_REVIEW");
  await row(page, "Grace").click();
  await page.getByText("A field that people can't see was filled in.").waitFor();
  assert.ok((await picture(page, "inbox-review")).colors > blank);
  await button(page, "Release it").click();
  await page.getByText("It has arrived.").first().waitFor();
  await row(page, "Robo").click();
  await button(page, "Reject it").click();
  await page.getByRole("dialog", { name: "Reject 1 lead?" }).waitFor();
  await page.keyboard.press("Escape"); // nothing happens without an answer
  await page.getByRole("heading", { name: "Is this a person?" }).waitFor();
  await button(page, "Reject it").click();
  await answer(page, "Reject");
  await page.getByRole("heading", { name: "Rejected in review" }).waitFor();
  assert.deepEqual(faults, []);
});

test("of two operators who decide at the same time, one wins and the other is notified", async (t) => {
  const email = "twice@example.com";
  const reference = await submit({ firstName: "Two", lastName: "Minds", email }, { website: "https://example.com" });
  const [one, two] = [await open(t, `#leads?lead=${reference}`), await watchedPage(browser.context, service.base)];
  t.after(() => two.page.close());
  await two.page.goto(`${service.base}/admin#leads?lead=${reference}`); // the tabs share the login
  await Promise.all([one, two].map(({ page }) => page.getByRole("heading", { name: "Is this a person?" }).waitFor()));

  // The second decision is sent before the first one is displayed, and arrives after it.
  let decided;
  const first = new Promise((resolve) => (decided = resolve));
  await two.page.route("**/admin/graphql", async (route) => {
    if (route.request().postData()?.includes("releaseLeads")) await first;
    await route.continue();
  });
  await button(two.page, "Release it").click();
  await button(one.page, "Reject it").click();
  await answer(one.page, "Reject");
  await one.page.getByRole("heading", { name: "Rejected in review" }).waitFor();
  decided();
  await two.page.getByText("Somebody else was faster").waitFor();
  await two.page.getByRole("heading", { name: "Rejected in review" }).waitFor();
  assert.deepEqual([...one.faults, ...two.faults.filter((fault) => !/status (of )?409/.test(fault))], []);
});

test("the other requests from an address are linked", async (t) => {
  const contact = { firstName: "Come", lastName: "Back", email: "Again@example.com" };
  const first = await submit(contact, { sessionId: "again-1", selections: { projectType: "website" } });
  const second = await submit(contact, { sessionId: "again-2" });
  await submit({ ...contact, email: "again@example.com.au" }, { sessionId: "again-3" });
  const { page, faults } = await open(t, `#leads?lead=${second}`);
  const others = page.locator(".card", { hasText: "Other requests from this address" });
  await others.getByRole("link", { name: "Company web site" }).click();
  await page.getByText(first, { exact: true }).first().waitFor();
  await others.getByRole("link", { name: "Web application" }).waitFor();
  assert.equal(await others.getByRole("link").count(), 1);
  assert.ok((await picture(page, "inbox-others")).colors > blank);
  assert.deepEqual(faults, []);
});

test("deliveries that wait for one target are shown as one line; each shows its reason and can be retried", async (t) => {
  const { page, faults } = await open(t, "#deliveries");
  await page.getByText("Everything has arrived").waitFor();
  const crm = join(service.folder, "crm");
  await rename(crm, `${crm}.away`);
  await writeFile(crm, "not a folder");
  await submit({ firstName: "Late", lastName: "Arrival", email: "late@example.com" });
  await submit({ firstName: "Later", lastName: "Still", email: "later@example.com" });
  await page.reload();
  await page.getByText(/^CRM: it could not be reached, since .*; 2 leads waiting$/).click();
  const card = page.locator("section.card", { hasText: "Late Arrival" }).filter({ hasText: "CRM" });
  await card.getByText(/Waiting: .*next try/).waitFor();
  assert.ok((await picture(page, "inbox-deliveries")).colors > blank);

  // The service keeps the last 20 attempts of a delivery, and a lead may have several deliveries to one target.
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData().includes("query Deliveries")) return route.continue();
    const response = await route.fetch();
    const json = await response.json();
    const edges = json.data?.deliveries?.edges;
    for (const { node } of edges ?? []) {
      const attempts = Array.from({ length: 20 }, (_, i) => ({ at: `2026-02-03T10:00:${10 + i}Z`, error: "unavailable" }));
      Object.assign(node, { attempts, attemptCount: 25, createdAt: "2026-01-02T10:00:00Z" });
    }
    edges?.push({ node: { ...edges[0].node, id: "another", event: "OUTCOME" } });
    await route.fulfill({ response, json });
  });
  await page.reload();
  await page.getByText(/^CRM: it could not be reached, since .*January.*; 2 leads waiting$/).click();
  await card.getByText("25 failed attempts").first().waitFor();
  await page.unrouteAll({ behavior: "wait" });
  await page.reload();
  await page.getByText(/; 2 leads waiting$/).click();
  await card.getByRole("button", { name: "Try now" }).click();
  await page.getByText("It is being tried right now.").waitFor();

  // When the CRM is available again, the service may retry before the button is clicked.
  await rm(crm);
  await rename(`${crm}.away`, crm);
  await card.waitFor({ state: "detached" });
  assert.deepEqual(faults, []);
});

test("a failed delivery is dismissed with a reason at the top of its lead", async (t) => {
  const own = await startService({ ADMIN_PAGE: "on", LEAD_WEBHOOK_URL: `${service.base}/admin`, LEAD_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString("base64")}` });
  t.after(() => own.stop());
  const reference = await submit({ firstName: "Not", lastName: "Needed", email: "not.needed@example.com" }, {}, own);
  const { page, faults } = await open(t, `#leads?lead=${reference}`, browser.context, own.base);
  const card = page.locator(".lead .card").first();
  await card.getByRole("heading", { name: "Needs attention" }).waitFor();
  await card.getByText(/Not delivered: it (says|refused)/).waitFor();
  assert.ok((await picture(page, "inbox-attention")).colors > blank);

  await button(page, "Dismiss …").click();
  const dialog = page.getByRole("dialog", { name: "Dismiss this delivery?" });
  await dialog.getByRole("button", { name: "Dismiss" }).click(); // not without a reason
  await dialog.getByLabel("Why it need not arrive").fill("The hook is gone");
  assert.ok((await picture(page, "inbox-dismiss")).colors > blank);
  await dialog.getByRole("button", { name: "Dismiss" }).click();
  await page.getByText("Dismissed: The hook is gone").waitFor();
  await card.getByRole("heading", { name: "Needs attention" }).waitFor({ state: "detached" });
  assert.deepEqual(faults, []);
});

test("the filtered leads are saved as a workbook with the texts as they were typed", async (t) => {
  const { page, faults } = await open(t, "#leads?since=7d&sort=OLDEST&search=example.com");
  await row(page, "Ana").waitFor();
  const rows = await workbook(page);
  const [ana, markup] = people.map(({ email }) => rows.find((row) => row["E-mail"] === email));
  assert.equal(ana.Phone, "+40 721 000 111");
  assert.equal(ana["Last name"], "Țurcanu");
  assert.equal(ana.Project, "web-app");
  assert.ok(Number(ana["Estimate from"]) > 0 && Number(ana.Received) > 46_000); // days since 1900
  assert.equal(markup.Company, "=1+1");
  assert.equal(markup["First name"], people[1].firstName);

  const env = { ENVIRONMENT: "development", DATA_DIR: service.folder };
  const { stdout } = await promisify(execFile)(binary, ["leads", "export", "--since", "7d", "--search", "example.com"], { env });
  const references = [...stdout.matchAll(/^([A-Z0-9]{8}),/gm)].map(([, reference]) => reference);
  assert.deepEqual(rows.map((row) => row.Reference), references);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(faults, []);
});

test("a lead is found by its company, its telephone number and its domain", async (t) => {
  const { page, faults } = await open(t);
  for (const words of ["verde", "0721 000 111", "@example.com ana"]) {
    await page.getByLabel("Search leads").fill(words);
    await row(page, "<img").waitFor({ state: "detached" });
    await row(page, "Casa Verde").waitFor();
    await page.getByLabel("Search leads").fill("");
    await row(page, "<img").waitFor();
  }
  assert.deepEqual(faults, []);
});

test("a person is erased after a dry run with a receipt", async (t) => {
  await submit({ firstName: "Forget", lastName: "Me", email: "forget@example.com" });
  const { page, faults } = await open(t);
  await row(page, "Forget").click();
  await page.getByText("It has arrived.").nth(1).waitFor(); // in the CMS and in the CRM
  await button(page, "Erase this person").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("row", { name: "CRM 1 contact" }).waitFor();
  await dialog.getByRole("row", { name: "CMS 1 document" }).waitFor();
  await dialog.getByRole("row", { name: "Database 1 lead" }).waitFor();
  assert.doesNotMatch(await dialog.innerText(), /PostgreSQL|0 |mailboxes|LEAD_WEBHOOK_URL/);
  assert.ok((await picture(page, "inbox-erase")).colors > blank);
  await dialog.getByRole("button", { name: "Erase for good" }).click();
  await dialog.getByRole("heading", { name: "Erased" }).waitFor();
  await row(page, "Forget").waitFor({ state: "detached" }); // behind the receipt, which stays open
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Save" }).click()]);
  assert.match((await readFile(await download.path())).toString(), /^Erased\n.*forget@example\.com.*20\d\d.*CRM\t1 contact/s);
  await page.emulateMedia({ media: "print" });
  await dialog.getByRole("button", { name: "Print" }).waitFor({ state: "hidden" });
  assert.ok((await picture(page, "inbox-receipt")).colors > blank);
  await page.emulateMedia({ media: "screen" });
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByText("Choose a lead").waitFor();

  // The audit has it, filtered; lists that were read one after the other are one line.
  await page.goto(`${service.base}/admin#audit?action=ERASED`);
  await page.getByText(/ token erased [A-Z0-9]{8}/).waitFor();
  assert.equal(await page.locator(".reasons > li").count(), 1);
  await page.goto(`${service.base}/admin#audit?action=LISTED`);
  await page.getByText(/^and \d+ more$/).first().click();
  await page.getByText(/ token read a list: .*leads/).nth(1).waitFor();
  assert.ok((await picture(page, "inbox-audit")).colors > blank);
  await page.getByLabel("Operator").fill("eve");
  await page.getByLabel("Operator").press("Enter");
  await page.getByText(/token/).first().waitFor(); // the error names those who exist
  assert.deepEqual(faults, []);
});

test("a long message scrolls, and leaves the work on the lead on the screen", async (t) => {
  const contact = { firstName: "Long", lastName: "Letter", email: "long@example.com" };
  const message = Array.from({ length: 60 }, (_, i) => `Line ${i}`).join("\n");
  const reference = await submit(contact, { message, selections: { projectType: "web-app" } });
  const { page, faults } = await open(t, `#leads?lead=${reference}`);
  const shown = page.locator(".message", { hasText: "Line 59" });
  await shown.waitFor();
  assert.ok((await shown.boundingBox()).height < 250);
  assert.deepEqual(await violations(page), []);
  assert.ok((await picture(page, "inbox-message")).colors > blank);
  assert.deepEqual(faults, []);
});

test("a person who only typed an address is found, saved, withdrawn and erased", async (t) => {
  const email = "typed.only@example.com";
  const formData = { firstName: "Typed", email };
  const consents = [{ purpose: "save_progress", given: true }];
  await send(service, "track", { sessionId: "visit-typed", selections: { projectType: "web-app" }, formData, consents });
  await submit({ firstName: "Both", lastName: "Ways", email: "both@example.com" }, { consents: [{ purpose: "marketing", given: true }] });

  const { page, faults } = await open(t, "#people");
  const find = async (address) => {
    await page.getByLabel("E-mail").fill(address);
    await button(page, "Find").click();
  };
  await find(email);
  await page.getByText(`typed: Typed, ${email}`).waitFor();
  assert.deepEqual(await violations(page), []);
  const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Save everything").click()]);
  const saved = JSON.parse(await readFile(await download.path()));
  assert.deepEqual([saved.email, saved.leads.length, saved.sessions[0].firstName], [email, 0, "Typed"]);
  assert.ok((await picture(page, "inbox-people")).colors > blank);
  await button(page, "Withdraw").click();
  await answer(page, "Withdraw");
  await page.getByText("Nothing is stored here about this address").waitFor(); // without the consent nothing is stored

  await find("both@example.com");
  const [whole] = await Promise.all([page.waitForEvent("download"), button(page, "Save everything").click()]);
  const { leads } = JSON.parse(await readFile(await whole.path()));
  assert.deepEqual(leads.map(({ contact, consents }) => [contact.lastName, consents[0].purpose]), [["Ways", "marketing"]]);
  await page.getByRole("link", { name: "Web application" }).waitFor();
  await button(page, "Withdraw").click();
  await page.getByText(/\(1 lead\), in the CMS and in the CRM/).waitFor();
  await answer(page, "Withdraw");
  await page.getByText(/^Withdrawn .*/).first().waitFor();
  await button(page, "Erase this person").click();
  await button(page, "Erase for good").click();
  await page.getByRole("heading", { name: "Erased" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByText("Nothing is stored here about this address").waitFor();
  assert.deepEqual(faults, []);
});

test("a visitor who left is listed with each choice, its quantity and a price to be agreed", async (t) => {
  const consents = [{ purpose: "save_progress", given: true }];
  const selections = { features: ["blog", "pages"], quantities: [{ slug: "pages", count: 7.5 }] };
  const formData = { firstName: "Left", email: "left@example.com" };
  const estimate = { min: 0, max: 0, currency: "EUR" };
  await send(service, "track", { sessionId: "visit-left", selections, formData, consents, estimate });
  const { page, faults } = await open(t, "#unfinished");
  const card = page.locator(".card", { hasText: "left@example.com" });
  await card.getByText("Blog", { exact: true }).waitFor();
  await card.getByText("Additional pages · 7.5").waitFor();
  await card.getByText("Price to be agreed").waitFor();
  assert.deepEqual(faults, []);
});

test("files are named by the day of TIME_ZONE", async (t) => {
  const TIME_ZONE = new Date().getUTCHours() < 12 ? "Etc/GMT+12" : "Pacific/Kiritimati"; // where it is another day
  const own = await startService({ ADMIN_PAGE: "on", TIME_ZONE });
  t.after(() => own.stop());
  const email = "zoned@example.com";
  await submit({ firstName: "Zoned", lastName: "Pop", email }, {}, own);
  const { page, faults } = await open(t, "#people", browser.context, own.base);
  await page.getByLabel("E-mail").fill(email);
  await button(page, "Find").click();
  const day = new Date().toLocaleDateString("en-CA", { timeZone: TIME_ZONE });
  const [person] = await Promise.all([page.waitForEvent("download"), button(page, "Save everything").click()]);
  assert.equal(person.suggestedFilename(), `person-${day}.json`);

  await button(page, "Erase this person").click();
  await button(page, "Erase for good").click();
  await page.getByRole("heading", { name: "Erased" }).waitFor();
  const [receipt] = await Promise.all([page.waitForEvent("download"), page.getByRole("dialog").getByRole("button", { name: "Save" }).click()]);
  assert.equal(receipt.suggestedFilename(), `erasure-${day}.txt`);
  assert.deepEqual(faults, []);
});

test("leads are filtered by consent, campaign and project, and exported", async (t) => {
  const consents = [{ purpose: "marketing", given: true }];
  const more = { consents, attribution: { source: "mail", campaign: "spring" }, selections: { projectType: "website" } };
  await submit({ firstName: "Agrees", lastName: "Once", email: "agrees@example.com" }, more);
  const { page, faults } = await open(t);
  for (const hash of ["consent=marketing", "campaign=spring", "project=website&search=agrees"]) {
    await page.goto(`${service.base}/admin#leads?${hash}`);
    await row(page, "Agrees").waitFor();
    await row(page, "<img").waitFor({ state: "detached" });
  }
  assert.equal(await page.getByLabel("Project", { exact: true }).inputValue(), "website");
  await page.goto(`${service.base}/admin#leads?consent=marketing`);
  await row(page, "Agrees").waitFor();
  const rows = await workbook(page);
  assert.ok(rows.length > 0 && rows.every((row) => row.Consents.includes("marketing · given: yes")), JSON.stringify(rows));

  await page.goto(`${service.base}/admin#leads?consent=Marketing`); // typed in another case
  await row(page, "Agrees").waitFor();
  assert.deepEqual(faults, []);
});

test("a filter with a wrong value is refused, and never lists everybody", async (t) => {
  await submit({ firstName: "Has", lastName: "Source", email: "source@example.com" }, { attribution: { source: "mail" } });
  const { page } = await open(t);
  await row(page, "Ana").waitFor();
  for (const [hash, name] of Object.entries({
    "leads?consent=news letter": "Agreed to",
    "leads?project=<web>": "Project",
    "leads?state=FOO": "State",
    "leads?status=DONE": "Status",
    "leads?locale=fr": "Language",
    "leads?result=WINN": "Outcome",
    "leads?currency=euro": "Currency",
    "leads?from=2000000000": "Amount from",
    "leads?to=much": "Amount to",
    "leads?start=2026-13-45": "Submitted from",
    "leads?end=yesterday": "Submitted until",
    "leads?source=nobody-such": "Source",
    "audit?action=FOO": "Action",
    "audit?start=2026-13-45": "Submitted from",
    "deliveries?state=LOST": "State",
    "funnel?locale=fr": "Language",
    "people?email=abc": "E-mail",
  })) {
    await page.goto(`${service.base}/admin#${hash}`);
    await page.getByText(new RegExp(`^“${name}.*” has a value that can't be used`)).first().waitFor({ timeout: 5000 }).catch(() => {
      throw new Error(`${hash} is not refused for ${name}: ${page.url()}`);
    });
    await row(page, "Ana").waitFor({ state: "detached" });
  }
});

test("a lead shows the reason why its visitor got no mail", async (t) => {
  const quiet = await startService({ ADMIN_PAGE: "on", VISITOR_MAIL: "off" });
  t.after(() => quiet.stop());
  const { page, faults } = await open(t, "", browser.context, quiet.base);
  const contact = { firstName: "No", lastName: "Mail", email: "none@example.com" };
  await submit(contact, {}, quiet);
  await submit({ ...contact, lastName: "Bot", email: "bot@example.com" }, { website: "x" }, quiet);
  for (const [name, why] of Object.entries({
    "No Mail": "The visitor received none: VISITOR_MAIL was off.",
    "No Bot": "The visitor received none: the lead is in review.",
  })) {
    await page.reload();
    await row(page, name).click();
    await page.getByText(why, { exact: true }).waitFor();
    assert.ok((await picture(page, "inbox-no-mail")).colors > blank);
  }
  assert.deepEqual(faults, []);
});

test("choices have their labels from the CMS", async (t) => {
  const selections = { projectType: "web-app", features: ["crm-integration", "taken-off-the-list"], timeline: "3-months" };
  const reference = await submit({ firstName: "Label", lastName: "Reader", email: "label@example.com" }, { selections });
  await send(service, "track", { sessionId: "visit-label", selections });
  const { page, faults } = await open(t, `#leads?lead=${reference}`);
  const features = page.locator(".fact", { hasText: "Features" });
  await features.getByText("CRM integration").waitFor();
  await features.getByText("Taken off the list").waitFor();
  await row(page, "Label Reader").getByText("Web application").waitFor();
  await page.getByRole("link", { name: "Funnel" }).click();
  await page.getByRole("rowheader", { name: "CRM integration" }).or(page.getByText("CRM integration")).first().waitFor();
  assert.deepEqual(faults, []);
});

test("the funnel and the health of the service are shown", async (t) => {
  const { page, faults } = await open(t, "#funnel");
  await page.getByText("Asked for a quote").waitFor();
  await page.getByRole("heading", { name: "By week" }).waitFor();
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByText("fetched").first().waitFor();
  const settings = page.getByRole("listitem").filter({ hasText: "SiteSettings" }); // from the sample content, with its time
  await settings.getByText(/^last changed \d+ days ago$/).waitFor();
  await settings.getByText("Live").waitFor();
  await page.getByText("written and committed").waitFor();
  assert.deepEqual(faults, []);
});

test("the login cookie is unreadable for scripts and unusable by another site", async (t) => {
  const { page } = await open(t);
  const cookies = await browser.context.cookies();
  assert.deepEqual(cookies.map((cookie) => [cookie.httpOnly, cookie.sameSite]), [[true, "Strict"]]);
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage])), new RegExp(token));
  const forged = await fetch(`${service.base}/admin/graphql`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Cookie: cookies.map((c) => `${c.name}=${c.value}`).join("; "),
      Origin: "https://evil.example",
    },
    body: JSON.stringify({ query: "{ leads { edges { node { id } } } }" }),
  });
  assert.equal(forged.status, 403);
  assert.doesNotMatch(await forged.text(), /node/);

  const other = await browser.context.newPage(); // the tabs of a browser share the login
  await other.goto(`${service.base}/admin#leads?search=ana`);
  await row(other, "Ana").waitFor();
  await button(page, "Log out").click();
  await other.getByLabel("Access token").waitFor();
  await page.getByLabel("Access token").waitFor();
  await other.close();
});

test("a login that has ended changes nothing, and the lead is still open after the next login", async (t) => {
  const reference = await submit({ firstName: "Mid", lastName: "Way", email: "mid@example.com" }, { website: "x" });
  const { page } = await open(t, `#leads?lead=${reference}`);
  await button(page, "Release it").waitFor();

  // Only the click discovers that the login has ended: the page's own requests are held back. A download would say nothing.
  for (const [name, operation] of [["Release it", /releaseLead/], ["Excel", /LeadCounts/]]) {
    let send;
    const clicked = new Promise((resolve) => (send = resolve));
    await page.route("**/graphql", (route) => operation.test(route.request().postData()) && clicked.then(() => route.continue()));
    const own = page.waitForRequest("**/graphql");
    await submit({ firstName: "Some", lastName: "One", email: `${name.replace(" ", "-")}@example.com` });
    await own;
    await browser.context.clearCookies();
    await button(page, name).click();
    send();
    await page.getByText("Your login has ended. Nothing was changed").first().waitFor();
    await page.unroute("**/graphql"); // sends what is held
    await logIn(page);
    await page.getByRole("heading", { name: "Is this a person?" }).waitFor();
  }

  await browser.context.setOffline(true);
  await page.getByRole("link", { name: "Funnel" }).click();
  await page.getByText("The service can't be reached.").waitFor();
  await browser.context.setOffline(false);
  await page.getByText("Asked for a quote").waitFor(); // without a click
});

test("the eleventh wrong token is rejected without being checked", async (t) => {
  const guarded = await startService({ ADMIN_PAGE: "on", RATE_LIMITS: "on" });
  const page = await browser.context.newPage();
  t.after(() => Promise.all([page.close(), guarded.stop()]));
  await page.goto(`${guarded.base}/admin`);
  for (let i = 0; i < 10; i++) {
    await page.getByLabel("Access token").fill(`wrong ${i}`);
    const answered = page.waitForResponse(/admin\/login/);
    await button(page, "Log in").click();
    assert.equal((await answered).status(), 401);
    await page.getByText("This token is not valid.").waitFor();
  }
  await page.getByLabel("Access token").fill(token);
  await button(page, "Log in").click();
  await page.getByText(/short break. Please wait \d+ seconds/).waitFor();
});

test("the inbox is drawn in dark colors and on a phone", async (t) => {
  for (const [name, options] of Object.entries({
    desktop: { colorScheme: "light" },
    dark: { colorScheme: "dark" },
    phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, hasTouch: true },
  })) {
    const { context, close } = await openBrowser(options);
    t.after(close);
    const { page, faults } = await open(t, "#leads?search=ana", context);
    await row(page, "Ana").click();
    await page.getByRole("heading", { name: "Ana Țurcanu" }).waitFor();
    assert.ok((await picture(page, `inbox-${name}`)).colors > blank);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, name);
    if (name === "phone") {
      await button(page, "Close").click();
      await row(page, "Ana").click({ trial: true }); // the list is shown again
    }
    assert.deepEqual(faults, []);
  }
});
