// Tests of <siteapi-calculator> on a page of another site that has hostile styles and a strict policy.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { openBrowser, picture, violations } from "./browser.mjs";
import { startService } from "../../../../../schema/clients/service.mjs";

let service;
let site;
let browser;
before(async () => {
  site = createServer(servePage).listen(0, "127.0.0.1");
  await once(site, "listening");
  service = await startService({ CORS_ALLOWED_ORIGINS: origin() });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await service?.stop();
  site?.close();
});

const origin = () => `http://127.0.0.1:${site.address().port}`;

/** A theme that restyles everything it can reach. */
const theme = `
  * { background: red !important; font: 40px cursive !important; margin: 31px !important; text-transform: uppercase !important }
  input, button, label, aside, form { display: none !important }
  siteapi-calculator { color-scheme: dark; display: block !important; --siteapi-accent: rgb(200, 0, 120) }
  siteapi-calculator::part(button) { letter-spacing: 3px }`;

/** The lines of the manual, with nonces for the page's own script and Trusted Types. */
const policy = () =>
  [
    "default-src 'none'",
    `script-src 'nonce-own' ${service.base}`,
    `connect-src ${service.base}`,
    "style-src 'self'",
    "img-src data:", // of the empty icon
    "require-trusted-types-for 'script'",
  ].join("; ");

function servePage({ url }, response) {
  if (url === "/theme.css") return response.setHeader("Content-Type", "text/css").end(theme);
  response.setHeader("Content-Security-Policy", policy());
  response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  response.end(`<!doctype html><html lang="es-MX"><head><title>A bakery</title><link rel="icon" href="data:,">
    <link rel="stylesheet" href="/theme.css"><script type="module" src="${service.base}/calculator.js"></script></head>
    <body><main><h1>Bread</h1><siteapi-calculator id="a" locale="ro"><div class="cf-turnstile"></div></siteapi-calculator>
    <siteapi-calculator id="b"></siteapi-calculator></main></body></html>`);
}

/** Opens the page with records of its faults and of the elements' events. */
async function open() {
  const page = await browser.context.newPage();
  const faults = [];
  page.on("console", (message) => {
    const ignored = /ByCoep$/.test(message.text()); // the response to a beacon, which arrived
    if (["error", "warning"].includes(message.type()) && !ignored) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.addInitScript(() => {
    window.events = [];
    for (const name of ["siteapi-estimate", "siteapi-submitted"]) {
      addEventListener(name, ({ type, detail, target }) => window.events.push({ type, detail, id: target.id }));
    }
  });
  await page.goto(origin());
  return { page, faults };
}

async function fill(element, person) {
  await element.locator("[value=landing-page]").check();
  for (const [id, value] of Object.entries(person)) await element.locator(`#${id}`).fill(value);
}

test("a page keeps its own look, address and history, and learns of estimates and requests", async () => {
  const { page, faults } = await open();
  const [first, second] = ["a", "b"].map((id) => page.locator(`siteapi-calculator#${id}`));
  await first.getByRole("button", { name: "Cereți o ofertă" }).waitFor(); // by its attribute
  await second.getByRole("button", { name: "Pedir presupuesto" }).waitFor(); // by the page's language

  const style = (name) => first.getByRole("button").evaluate((e, name) => getComputedStyle(e)[name], name);
  assert.equal(await style("letterSpacing"), "3px");
  assert.notEqual(await style("textTransform"), "uppercase");
  assert.equal(await first.locator("legend").first().evaluate((e) => getComputedStyle(e, "::before").color), "rgb(200, 0, 120)");
  assert.equal(await first.locator("aside").evaluate((e) => getComputedStyle(e).backgroundColor), "rgb(21, 66, 60)", "dark, as the page");

  await fill(first, { firstName: "Ana", lastName: "Pop", email: "ana@example.com" });
  await fill(second, { firstName: "Luz" });
  const submitted = page.waitForRequest("**/api/quote/submit");
  await first.getByRole("button", { name: "Cereți o ofertă" }).click();
  const reference = await first.locator(".accepted code").innerText();
  assert.equal((await submitted).postDataJSON().locale, "ro");
  assert.equal(await second.locator("#firstName").inputValue(), "Luz", "the other element is as it was");

  const events = await page.evaluate(() => window.events);
  const { id, detail } = events.find(({ type }) => type === "siteapi-submitted");
  assert.deepEqual([id, detail.reference, detail.id.slice(0, 8).toUpperCase()], ["a", reference, reference]);
  assert.deepEqual(detail.estimate.currency, "EUR");
  assert.deepEqual(new Set(events.filter(({ type }) => type === "siteapi-estimate").map((event) => event.id)), new Set(["a", "b"]));

  const { title, mains, path, entries } = await page.evaluate(() => ({
    title: document.title,
    mains: document.querySelectorAll("main").length,
    path: location.href.slice(location.origin.length),
    entries: history.length,
  }));
  assert.deepEqual([title, mains, path, entries <= 2], ["A bakery", 1, "/", true]);
  assert.deepEqual(await violations(page), []);
  assert.ok((await picture(page, "element-hostile")).colors > 100);
  assert.deepEqual(faults, []);
  await page.close();
});

test("a client-side navigation and Back keep what was typed, and track it once", async () => {
  const { page, faults } = await open();
  const element = page.locator("siteapi-calculator#a");
  await fill(element, { firstName: "Ioana" });
  const tracked = page.waitForRequest("**/api/quote/track"); // before the 800 ms have passed
  await page.evaluate(() => {
    window.left = document.querySelector("main");
    history.pushState(null, "", "/about");
    window.left.replaceWith(document.createElement("p"));
  });
  await tracked;
  await page.evaluate(() => {
    const again = document.createElement("siteapi-calculator");
    again.id = "a";
    document.body.replaceChildren(again);
    history.back();
  });
  await page.waitForURL(`${origin()}/`);
  assert.equal(await element.locator("#firstName").inputValue(), "Ioana");
  assert.ok(await element.locator("[value=landing-page]").isChecked());

  await element.evaluate((e) => e.setAttribute("locale", "EN-gb"));
  await element.getByRole("button", { name: "Request a quote" }).waitFor();
  assert.equal(await element.locator("#firstName").inputValue(), "Ioana");
  assert.deepEqual(faults, []);
  await page.close();
});

test("the token of a bot check is sent once, and renewed after a refusal", async () => {
  const { page } = await open();
  await page.evaluate(() => {
    let number = 0;
    const widget = document.querySelector(".cf-turnstile");
    window.turnstile = {
      reset(given) {
        const field = Object.assign(document.createElement("input"), { type: "hidden", name: "cf-turnstile-response" });
        field.value = `token-${++number}`;
        given.replaceChildren(field);
      },
    };
    window.turnstile.reset(widget);
  });
  const element = page.locator("siteapi-calculator#a");
  assert.ok(await page.locator(".cf-turnstile").evaluate((e) => e.assignedSlot !== null), "the widget is shown");
  const tokens = [];
  for (const person of [{ firstName: "Ana" }, { lastName: "Pop", email: "bot@example.com" }]) {
    await fill(element, person);
    const sent = page.waitForRequest("**/api/quote/submit");
    await element.getByRole("button", { name: "Cereți o ofertă" }).click();
    tokens.push((await sent).postDataJSON().challengeToken);
    await element.getByRole("alert").filter({ hasText: /./ }).or(element.locator(".accepted")).first().waitFor();
  }
  assert.deepEqual(tokens, ["token-1", "token-2"]);
  await page.close();
});

test("the script and its loader are small, cached, and loaded by every site", async () => {
  const get = (path, headers = {}) => fetch(service.base + path, { headers: { Origin: "https://bakery.example", ...headers } });
  const loader = await get("/calculator.js");
  const [, script] = /from "\.(.*)"/.exec(await loader.text());
  for (const { headers } of [loader, await get(script)]) {
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.equal(headers.get("cross-origin-resource-policy"), "cross-origin");
    assert.equal(headers.get("content-type"), "text/javascript; charset=utf-8");
  }
  assert.match(loader.headers.get("cache-control"), /^public, max-age=300$/);
  assert.equal((await get("/calculator.js", { "If-None-Match": loader.headers.get("etag") })).status, 304);

  for (const [coding, most] of [["br", 20_000], ["gzip", 22_000]]) {
    const { headers } = await get(script, { "Accept-Encoding": coding });
    assert.equal(headers.get("content-encoding"), coding);
    assert.ok(Number(headers.get("content-length")) < most, `${coding}: ${headers.get("content-length")} bytes`);
    assert.match(headers.get("cache-control"), /immutable/);
  }
  assert.equal((await get("/calculator-unknown.js")).status, 404);
});
