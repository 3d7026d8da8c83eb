// Tests of signing in to the inbox with an account, in a real browser.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { openBrowser, picture, violations, watchedPage } from "./browser.mjs";
import { blank, submit } from "./inbox.mjs";
import { startProvider } from "./provider.mjs";
import { binary, startService } from "../../../../../schema/clients/service.mjs";

let provider;
let service;
let browser;
before(async () => {
  provider = await startProvider();
  service = await startService(provider.settings);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await service?.stop();
  provider?.stop();
});

const account = (page) => page.getByRole("button", { name: "Sign in with your account" });

/** Opens the inbox in a browser without a login. Requests to the provider are not faults. */
async function open(t, hash = "") {
  await browser.context.clearCookies();
  const { page, faults } = await watchedPage(browser.context, service.base);
  t.after(() => page.close());
  await page.goto(`${service.base}/admin${hash}`);
  await account(page).waitFor();
  faults.length = 0; // the page requested its login, and there was none
  const others = () => faults.filter((fault) => fault !== `request to ${provider.issuer}`);
  return { page, others };
}

test("an operator signs in, arrives at the linked lead, and returns there after the login has ended", async (t) => {
  const reference = await submit(service, { firstName: "Ioana", lastName: "Pop", email: "ioana@example.com" });
  const { page, others } = await open(t, `#leads?lead=${reference}`);
  await account(page).click();
  await page.getByRole("heading", { name: "Ioana Pop" }).waitFor();
  assert.equal(new URL(page.url()).hash, `#leads?lead=${reference}`);
  assert.deepEqual(others(), []);
  assert.deepEqual(provider.prompts, [""]);

  const returned = page.waitForEvent("load");
  const env = { ENVIRONMENT: "development", DATA_DIR: service.folder };
  await promisify(execFile)(binary, ["logins", "end", "--all"], { env });
  await page.getByRole("link", { name: "Funnel" }).click();
  await returned;

  // The page's stream may detect the end before the click: then the page stays at the lead.
  const places = { "#funnel": "Funnel · Inbox", [`#leads?lead=${reference}`]: "Leads · Inbox" };
  await page.waitForURL((url) => url.hash in places && url.pathname === "/admin");
  await page.getByRole("navigation").waitFor();
  await page.waitForFunction((titles) => document.title === titles[location.hash], places);
  assert.deepEqual(provider.prompts, ["", ""]);
});

test("an account without a role gets the reason in its language, and can try again", async (t) => {
  provider.person.groups = ["others"];
  const { page } = await open(t);
  await page.setExtraHTTPHeaders({ "Accept-Language": "ro" });
  await account(page).click();
  await page.getByRole("heading", { name: "Nu ești autentificat" }).waitFor();
  await page.setExtraHTTPHeaders({ "Accept-Language": "en" });
  await page.getByRole("link", { name: "Încearcă din nou" }).click();
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  await page.getByText('no group in its claim "groups" is listed').waitFor();
  assert.deepEqual(await violations(page), []);
  assert.ok((await picture(page, "inbox-refused")).colors > blank);

  provider.person.groups = ["desk"];
  await page.getByRole("link", { name: "Try again" }).click();
  await page.getByRole("navigation").waitFor();
});
