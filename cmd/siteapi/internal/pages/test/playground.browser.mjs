// Tests of GraphiQL in a real browser:
//
//   npm test                                      with the service that `make build` built
//   SITEAPI_URL=http://localhost:8080 npm test    with a running one, in development
//
// Screenshots are in test/screenshots.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startService } from "../../../../../schema/clients/service.mjs";
import { openBrowser, picture, violations, watchedPage } from "./browser.mjs";

const blank = 100; // a page with text has more colors than this

let service;
let browser;
before(async () => {
  service = process.env.SITEAPI_URL ? { base: process.env.SITEAPI_URL, stop() {} } : await startService();
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Opens GraphiQL and waits until its editors and the schema are loaded. */
async function open(context, base, path = "/playground") {
  const watched = await watchedPage(context, base);
  await watched.page.goto(base + path);
  await watched.page.locator(".graphiql-query-editor .view-line").first().waitFor();
  return watched;
}

const run = (page) => page.getByRole("button", { name: /^Execute query/ }).click();
const operation = (page) => page.locator(".graphiql-query-editor .view-lines");
const response = (page) => page.locator(".result-window .view-lines");
const tab = (page, name) => page.locator(".graphiql-tabs").getByRole("button", { name, exact: true }).click();
const tool = (page) => page.locator(".graphiql-editor-tool .view-lines:visible");

/** The text of an editor, which draws blanks as no-break spaces and breaks long lines. */
const textOf = async (editor) => (await editor.innerText()).replace(/\s+/g, " ");

/** Waits until the text of an editor matches. */
async function shows(editor, pattern) {
  const text = () => textOf(editor);
  const deadline = Date.now() + 60_000;
  while (!pattern.test(await text())) {
    assert.ok(Date.now() < deadline, `${pattern} is not in:\n${await text()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Replaces the text of an editor by typing. The editor closes quotes and brackets itself. */
async function retype(page, editor, text) {
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type(text);
  await page.keyboard.press("Escape"); // closes the list of completions
}

test("a query is typed with completion and executed", async () => {
  const { page, faults } = await open(browser.context, service.base);
  await page.getByRole("button", { name: "New tab" }).click();
  await retype(page, operation(page), '{ SiteSettings(id: "siteSettings") { contactE');
  await page.keyboard.press("Control+Space");
  await page.locator(".suggest-widget.visible").getByText("contactEmail").first().waitFor();
  assert.ok((await picture(page, "completion")).colors > blank);
  await page.keyboard.press("Enter");
  await run(page);
  await shows(response(page), /"contactEmail": "[^"]+@[^"]+"/);
  assert.ok((await picture(page, "typed-query")).colors > blank);
  assert.deepEqual(faults, []);
  await page.close();
});

test("an unknown field is underlined, and rejected with its name", async () => {
  const { page, faults } = await open(browser.context, service.base);
  await page.getByRole("button", { name: "New tab" }).click();
  await retype(page, operation(page), '{ SiteSettings(id: "siteSettings") { nonsense');
  await page.locator(".graphiql-query-editor .squiggly-error").first().waitFor();
  await run(page);
  await shows(response(page), /Cannot query field \\"nonsense\\" on type \\"SiteSettings\\"\./);
  assert.deepEqual(faults, []);
  await page.close();
});

test("the documentation explains SiteSettings", async () => {
  const { page, faults } = await open(browser.context, service.base);
  await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
  const docs = page.locator(".graphiql-doc-explorer");
  await docs.getByRole("link", { name: "SiteSettings", exact: true }).first().click();
  await docs.getByText("Global configuration of the site").waitFor();
  await docs.getByRole("link", { name: "contactPhones" }).waitFor();
  assert.ok((await picture(page, "docs")).colors > blank);
  const found = (await violations(page)).filter((text) => !text.startsWith("nested-interactive")); // GraphiQL's tabs
  assert.deepEqual(found, []);
  assert.deepEqual(faults, []);
  await page.close();
});

test("every prepared operation runs unchanged", async () => {
  const { page, faults } = await open(browser.context, service.base);
  const expected = {
    SiteSettings: /"contactPhones": \[/,
    Content: /"type": "heroSection"/,
    ContentPage: /"total": \d+/,
    QuoteOptions: /"slug": "landing-page"/,
    TrackQuote: /"success": true/,
    SubmitQuote: /"pdfUrl": "\/api\/quote\/pdf\?id=/,
    EstimateQuote: /"validUntil": "\d{4}-/,
    CacheStats: /"available": true/,
    ClearCache: /"cleared": \d/,
    InvalidateCache: /"content:locale:en"/,
    ReceiveCmsWebhook: /"content:locale:es"/,
  };
  for (const [name, pattern] of Object.entries(expected)) {
    await tab(page, name);
    await run(page);
    await shows(response(page), pattern);
  }
  assert.equal(await page.getByRole("tab").count(), Object.keys(expected).length + 4); // the others need the id of a quote

  // The token of a guarded operation is visible, and a wrong one is rejected.
  await tab(page, "ClearCache");
  await page.getByRole("button", { name: "Headers" }).click();
  await shows(tool(page), /"Authorization": "Bearer /);
  assert.ok((await picture(page, "guarded")).colors > blank);
  await retype(page, tool(page), '{"Authorization": "Bearer wrong');
  await run(page);
  await shows(response(page), /"UNAUTHENTICATED"/);
  assert.deepEqual(faults, []);
  await page.close();
});

test("the list of operations groups those that need a token, and opens each", async () => {
  const { page, faults } = await open(browser.context, service.base);
  await page.getByRole("button", { name: "Show Operations" }).click();
  const list = page.getByRole("navigation", { name: "Operations" });
  const groups = await list.getByRole("list").evaluateAll((all) =>
    all.map((e) => [e.previousElementSibling.textContent, e.querySelectorAll("button").length]),
  );
  assert.deepEqual(groups, [
    ["Anyone may send", 12],
    ["Operators, with the cache token", 2],
    ["The CMS, with the webhook's secret", 1],
  ]);
  await list.getByRole("button", { name: "Invalidate a document type" }).click();
  await shows(operation(page), /mutation InvalidateCache/);
  await run(page);
  await shows(response(page), /"content:locale:en"/);
  assert.ok((await picture(page, "operations")).colors > blank);
  assert.deepEqual(faults, []);
  await page.close();
});

test("a submitted quote can be read back in the next tab, and tabs survive a reload", async () => {
  const { page, faults } = await open(browser.context, service.base);
  await tab(page, "SubmitQuote");
  await run(page);
  await shows(response(page), /"submissionId": "\w+"/);
  const [, id] = /"submissionId": "(\w+)"/.exec(await textOf(response(page)));
  await tab(page, "QuotePdf");
  await retype(page, tool(page), `{"id": "${id}`);
  await run(page);
  await shows(response(page), /"contentType": "application\/pdf"/);
  assert.ok((await picture(page, "quote-pdf")).colors > blank);

  await page.waitForTimeout(700); // GraphiQL stores input half a second later
  await page.reload();
  await shows(tool(page), new RegExp(id));
  await page.getByRole("button", { name: "Restore the examples" }).click();
  await shows(operation(page), /query SiteSettings/);
  assert.deepEqual(faults, []);
  await page.close();
});

test("the playground is drawn in dark colors", async () => {
  const dark = await openBrowser({ colorScheme: "dark" });
  try {
    const { page, faults } = await open(dark.context, service.base);
    await run(page);
    await shows(response(page), /"contactPhones": \[/);
    assert.ok((await picture(page, "dark")).colors > blank);
    const background = await page.locator(".graphiql-container").evaluate((e) => getComputedStyle(e).backgroundColor);
    const brightness = background.match(/\d+/g).slice(0, 3).map(Number);
    assert.ok(Math.max(...brightness) < 80, background);
    assert.deepEqual(faults, []);
  } finally {
    await dark.close();
  }
});

test("without introspection the page shows a notice, and operations run", { skip: process.env.SITEAPI_URL && "needs its own service" }, async () => {
  const quiet = await startService({ GRAPHQL_INTROSPECTION: "off" });
  try {
    const { page, faults } = await open(browser.context, quiet.base, "/playground/");
    await page.getByRole("status").getByText("GRAPHQL_INTROSPECTION=off").waitFor();
    await run(page);
    await shows(response(page), /"contactPhones": \[/);
    assert.ok((await picture(page, "no-introspection")).colors > blank);
    assert.deepEqual(faults, []);
    await page.close();
  } finally {
    await quiet.stop();
  }
});
