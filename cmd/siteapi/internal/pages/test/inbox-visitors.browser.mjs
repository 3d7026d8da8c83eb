// Tests of visitors who left, from the calculator to the inbox, in a real browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openBrowser, picture, violations, watchedPage } from "./browser.mjs";
import { age, blank, openInbox, operate } from "./inbox.mjs";
import { startService } from "../../../../../schema/clients/service.mjs";

let service;
let browser;
before(async () => {
  service = await startService({ ADMIN_PAGE: "on" });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Uses the calculator like a visitor who leaves before asking for a quote. */
async function visit(email, agrees) {
  const { page, faults } = await watchedPage(browser.context, service.base);
  const tracked = page.waitForResponse((response) => {
    const { consents, formData } = response.url().endsWith("/api/quote/track") ? response.request().postDataJSON() : {};
    return consents?.[0].given === agrees && (!agrees || formData.email === email);
  });
  await page.goto(`${service.base}/calculator?lang=en&utm_source=newsletter`);
  await page.locator("[value=landing-page]").check();
  await page.locator("output.range:not(.empty)").waitFor();
  await page.locator("#firstName").fill("Ada");
  await page.locator("#email").fill(email);
  if (agrees) await page.getByRole("checkbox", { name: /^Save my first name/ }).check();
  assert.equal((await tracked).status(), 200);
  await page.close();
  assert.deepEqual(faults, []);
}

test("who agreed, typed an address and left is listed half an hour later, and nobody else", async (t) => {
  const { page, faults } = await openInbox(t, browser.context, service.base, "#visitors");
  await page.getByText("As soon as one leaves who agreed, it shows here.").waitFor();
  assert.deepEqual(await violations(page), []);
  assert.ok((await picture(page, "inbox-visitors-none")).colours > blank);

  await visit("agrees@example.com", true);
  await visit("declines@example.com", false);
  const { visitorsWhoLeft } = await operate(service, "{ visitorsWhoLeft { none } }");
  assert.equal(visitorsWhoLeft.none, "NONE_YET", "they were here a moment ago");

  await age(service);
  await page.getByRole("button", { name: "Look again" }).click();
  const card = page.locator(".card", { hasText: "agrees@example.com" });
  await card.getByRole("heading", { name: "Ada" }).waitFor();
  await card.getByText("1 hour ago").waitFor();
  await card.getByText("Landing page").waitFor();
  await card.getByText("English").waitFor();
  await card.getByText("newsletter").first().waitFor();
  await card.getByText("Save my first name and my e-mail as I go, so that you can help me finish.").waitFor();
  assert.equal(await page.locator(".card").count(), 1);
  assert.deepEqual(await violations(page), []);
  assert.ok((await picture(page, "inbox-visitors")).colours > blank);

  // An erasure empties the list.
  await card.getByRole("button", { name: "Erase this person" }).click();
  await page.getByRole("button", { name: "Erase for good" }).click();
  await page.getByRole("heading", { name: "Erased", exact: true }).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByText("As soon as one leaves who agreed, it shows here.").waitFor();
  assert.deepEqual(faults, []);
});

test("the list says why it is empty where visitors are not asked", async (t) => {
  const documents = JSON.parse(await readFile(join(service.folder, "content.json"), "utf8"));
  await service.publish(documents.filter(({ _type }) => _type !== "consentText"));
  const { page, faults } = await openInbox(t, browser.context, service.base, "#visitors");
  await page.getByText("Visitors are not asked: the CMS has no wording for save_progress").waitFor();
  assert.deepEqual(faults, []);
});
