// Tests of the languages of the inbox in a real browser. Screenshots are in test/screenshots.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { openBrowser, picture, violations } from "./browser.mjs";
import { blank, openSignedIn, row, send, submit } from "./inbox.mjs";
import { startProvider } from "./provider.mjs";
import { startService } from "../../../../../schema/clients/service.mjs";

/** The expected texts of each language. */
const languages = {
  en: {
    title: "Leads · Inbox",
    heading: "Contact",
    state: "In review",
    project: "Web application",
    money: "€14,000 – €18,900",
  },
  es: {
    title: "Leads · Bandeja",
    heading: "Contacto",
    state: "En revisión",
    project: "Aplicación web",
    money: "14.000-18.900 €",
  },
  ro: {
    title: "Lead-uri · Inbox",
    heading: "Contact",
    state: "În verificare",
    project: "Aplicație web",
    money: "14.000 - 18.900 EUR",
  },
};
const [, listed] = /views = (\[.*?\])/.exec(await readFile(new URL("../inbox/route.ts", import.meta.url), "utf8"));
const views = JSON.parse(listed);

let provider;
let service;
let browser;
let reference;
before(async () => {
  provider = await startProvider();
  Object.assign(provider.person, { groups: ["team"], email: "dana@example.com", email_verified: true });
  service = await startService(provider.settings);
  browser = await openBrowser({ locale: "ro-RO" });
  const contact = { firstName: "Ana", lastName: "Țurcanu", email: "ana@example.com", phone: "+40 721 000 111" };
  const attribution = { source: "newsletter", campaign: "autumn" };
  const selections = { projectType: "web-app", features: ["crm-integration"], timeline: "3-months" };
  await send(service, "track", { sessionId: "visit-ana", selections, attribution });
  reference = await submit(service, contact, { sessionId: "visit-ana", selections, attribution, message: "Bună ziua" });
  await submit(service, { ...contact, firstName: "Robo", email: "robo@example.com" }, { website: "https://example.com" });
});
after(async () => {
  await browser?.close();
  await service?.stop();
  provider?.stop();
});

const open = (t, hash) => openSignedIn(t, browser.context, service.base, hash);

/** Opens the collapsed parts of the list of leads: more filters, and the actions on several leads. */
async function openAll(page) {
  await page.locator("details.narrow").evaluate((details) => (details.open = true));
  if (!(await page.locator(".selection").count())) await page.locator(".heading button").first().click();
  await page.locator(".selectable [type=checkbox]").first().check();
  await page.locator(".selection [aria-expanded]").click();
}

const choose = (page, code) => page.locator("select.language").selectOption(code);
const plain = (text) => text.replace(/\s+/gu, " "); // some spaces are narrow or no-break spaces

test("the page uses the browser's language or the chosen one, and remembers it", async (t) => {
  const { page, faults } = await open(t, `#leads?lead=${reference}`);
  for (const code of ["ro", "es", "en"]) {
    const expected = languages[code];
    if (code !== "ro") await choose(page, code);
    await page.getByRole("heading", { name: expected.heading, exact: true }).waitFor();
    await row(page, "Robo").getByText(expected.state, { exact: true }).waitFor();
    await page.locator(".fact").getByText(expected.project).waitFor();
    assert.equal(await page.title(), expected.title);
    assert.equal(await page.evaluate(() => document.documentElement.lang), code);
    assert.equal(plain(await page.locator(".estimate").innerText()), expected.money);
  }

  await choose(page, "es");
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), ["siteapi-inbox-language"]);
  await page.reload();
  await page.getByRole("heading", { name: "Contacto", exact: true }).waitFor();
  await page.evaluate(() => localStorage.clear());
  assert.deepEqual(faults, []);
});

// The dark colors are the same in each language.
for (const [colorScheme, codes] of Object.entries({ light: Object.keys(languages), dark: ["en"] })) {
  test(`axe finds no violations in any view: ${colorScheme}, ${codes}`, async (t) => {
    const { page, faults } = await open(t);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const code of codes) {
      await choose(page, code);
      for (const view of views) {
        await page.goto(`${service.base}/admin#${view}${view === "leads" ? `?lead=${reference}` : ""}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.locator(".skeleton, [aria-busy=true]").first().waitFor({ state: "detached" });
        if (view === "leads") await openAll(page);
        assert.deepEqual(await violations(page), [], `${view} in ${code}`);
        assert.ok((await picture(page, `inbox-${view}-${code}-${colorScheme}`)).colors > blank);
      }
    }
    await page.evaluate(() => localStorage.clear());
    assert.deepEqual(faults, []);
  });
}

test("on a phone every view is reachable in each language, and nothing is wider than the screen", async (t) => {
  const { page, faults } = await open(t);
  await page.setViewportSize({ width: 360, height: 740 });
  const width = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  for (const code of Object.keys(languages)) {
    await page.locator("[popovertarget=more]").click();
    await choose(page, code);
    for (const view of views) {
      if (!(await page.locator(`nav > [href="#${view}"]`).count())) await page.locator("[popovertarget=more]").click();
      await page.locator(`nav [href="#${view}"]`).click();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator(".skeleton, [aria-busy=true]").first().waitFor({ state: "detached" });
      if (view === "leads") await page.locator("details.narrow").evaluate((details) => (details.open = true));
      assert.equal(await width(), 0, `${view} in ${code}`);
      assert.ok((await picture(page, `inbox-phone-${view}-${code}`)).colors > blank);
    }
    // No view's name is truncated.
    const cut = await page.evaluate(
      () => [...document.querySelectorAll("nav > * > span")].filter((e) => e.scrollWidth > e.clientWidth).length,
    );
    assert.equal(cut, 0, code);
  }
  await page.locator("[popovertarget=more]").click();
  assert.ok((await picture(page, "inbox-phone-menu")).colors > blank);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(faults, []);
});
