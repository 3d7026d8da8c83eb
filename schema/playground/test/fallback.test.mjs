// The small page of a binary that was built without npm, in a real browser. The binary
// is built here, from the same sources with GraphiQL's files left out.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startService } from "../../clients/service.mjs";
import { openBrowser, picture, watchedPage } from "./browser.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const dist = fileURLToPath(new URL("../web/dist", import.meta.url));

let folder;
let service;
let browser;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "siteapi-small-"));
  const overlay = join(folder, "overlay.json");
  const built = await readdir(dist).catch(() => []);
  await writeFile(overlay, JSON.stringify({ Replace: Object.fromEntries(built.map((name) => [join(dist, name), ""])) }));
  const binary = process.env.SITEAPI_SMALL_BINARY ?? join(folder, "siteapi");
  if (!process.env.SITEAPI_SMALL_BINARY) {
    const args = ["build", "-trimpath", "-ldflags", "-s -w", "-overlay", overlay, "-o", binary, "./cmd/siteapi"];
    await promisify(execFile)("go", args, { cwd: root, env: { ...process.env, CGO_ENABLED: "0" } });
  }
  service = await startService({}, binary);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function open(context) {
  const watched = await watchedPage(context, service.base);
  await watched.page.goto(`${service.base}/playground`);
  return watched;
}

test("it says how to get GraphiQL, and runs a typed query meanwhile", async () => {
  const { page, faults } = await open(browser.context);
  await page.getByText("make pages").waitFor();
  await page.getByLabel("Operation", { exact: true }).fill('{ SiteSettings(id: "siteSettings") { contactEmail } }');
  await page.getByLabel("Operation", { exact: true }).press("Control+Enter");
  await page.getByText(/"contactEmail": "[^"]+@/).waitFor();
  assert.match(await page.getByRole("status").innerText(), /^Answered · status 200/);
  assert.ok((await picture(page, "small")).colours > 100);
  assert.deepEqual(faults, []);
  await page.close();
});

test("its examples bring their variables and token, and mistakes are shown", async () => {
  const { page, faults } = await open(browser.context);
  await page.getByLabel("Start from").selectOption("Clear the cache");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText(/"cleared": \d/).waitFor();
  await page.getByLabel("Bearer token").fill("wrong");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("UNAUTHENTICATED").waitFor();
  assert.match(await page.getByRole("status").innerText(), /^Refused/);
  await page.getByLabel("Variables").fill("{");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("The variables are not JSON.").waitFor();
  await picture(page, "small-mistake");
  assert.deepEqual(faults, []);
  await page.close();
});

for (const [name, options] of Object.entries({
  "small-dark": { colorScheme: "dark" },
  "small-phone": { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  "small-without-scripts": { javaScriptEnabled: false },
})) {
  test(`it is usable: ${name}`, async () => {
    const other = await openBrowser(options);
    try {
      const page = await other.context.newPage();
      await page.goto(`${service.base}/playground`);
      assert.ok((await picture(page, name)).colours > 100);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it is wider than the screen");
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByText("contactPhones").last().waitFor();
      await page.getByText("+44 20 7946 0018").first().waitFor();
    } finally {
      await other.close();
    }
  });
}
