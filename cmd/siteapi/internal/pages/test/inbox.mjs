// Shared helpers for the tests of the inbox: requests of visitors, and logins of operators.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { strFromU8, unzipSync } from "fflate";
import { watchedPage } from "./browser.mjs";

export const token = "dev-admin-token"; // in development
export const blank = 60; // a page with text has more colors than this

/** Sends a request of the calculator. */
export async function send(service, route, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${service.base}/api/quote/${route}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

/** Submits a quote request, and returns the reference on the PDF. */
export async function submit(service, contact, more = {}) {
  const features = Array.from({ length: 50 }, (_, i) => `feature-${i}`);
  const { submissionId } = await send(service, "submit", {
    sessionId: `visit-${contact.email.replace(/\W/g, "-")}`,
    contact,
    selections: { projectType: "web-app", features },
    estimate: { min: 12000, max: 18000, currency: "EUR" },
    locale: "ro",
    ...more,
  });
  return submissionId.replace(/[^A-Za-z0-9]/g, "").slice(0, 8).toUpperCase();
}

/** Executes an operators' operation with a token, like a script. */
export async function operate(service, query, variables = {}) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const body = JSON.stringify({ query, variables });
  const response = await (await fetch(`${service.base}/graphql`, { method: "POST", headers, body })).json();
  assert.equal(response.errors, undefined, JSON.stringify(response.errors));
  return response.data;
}

export async function logIn(page) {
  await page.locator("#token").fill(token);
  await page.locator("form [type=submit]").click();
  await page.getByRole("navigation").waitFor();
}

/** Opens the inbox in a browser without a login until the test ends, and logs in with the token. */
export async function openInbox(t, context, base, hash = "") {
  await context.clearCookies();
  const watched = await watchedPage(context, base);
  t.after(() => watched.page.close());
  await watched.page.goto(`${base}/admin${hash}`);
  await logIn(watched.page);
  return watched;
}

/** Opens the inbox with the login of an account, whose provider shows no prompt. */
export async function openSignedIn(t, context, base, hash = "") {
  const go = (address, headers = {}) => fetch(address, { redirect: "manual", headers });
  const login = await go(`${base}/admin/login`);
  const asked = await go(login.headers.get("Location"));
  const ended = await go(asked.headers.get("Location"), { Cookie: login.headers.getSetCookie()[0].split(";")[0] });
  const cookie = ended.headers.getSetCookie().find((header) => header.startsWith("siteapi_login="));
  assert.ok(cookie, `signing in: ${ended.status} ${await ended.text()}`);
  const value = cookie.split(";")[0].split("=")[1];
  await context.clearCookies();
  await context.addCookies([{ name: "siteapi_login", value, domain: "127.0.0.1", path: "/admin", httpOnly: true }]);

  const watched = await watchedPage(context, base);
  t.after(() => watched.page.close());
  await watched.page.goto(`${base}/admin${hash}`);
  await watched.page.getByRole("navigation").waitFor();
  return watched;
}

export const row = (page, name) => page.locator(".row", { hasText: name });
export const button = (page, name) => page.getByRole("button", { name });

/** Answers the open question with the button of a name. */
export const answer = (page, name) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

/** Downloads the workbook of the list, and returns its rows as objects by heading. */
export async function workbook(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Excel" }).click()]);
  const parts = unzipSync(await readFile(await download.path()));
  const sheet = strFromU8(parts["xl/worksheets/sheet1.xml"]);
  const plain = (text) => text.replace(/&#(?:x([0-9A-F]+)|(\d+));|&(lt|gt|amp);/gi, (_, hex, decimal, name) =>
    name ? { lt: "<", gt: ">", amp: "&" }[name] : String.fromCodePoint(hex ? parseInt(hex, 16) : Number(decimal)));
  const [headings, ...rows] = [...sheet.matchAll(/<row>(.*?)<\/row>/gs)].map(([, row]) =>
    [...row.matchAll(/<c\/>|<c [^>]*>(.*?)<\/c>/gs)].map(([, cell]) => plain((cell ?? "").replace(/<[^>]*>/g, ""))));
  return rows.map((row) => Object.fromEntries(headings.map((heading, i) => [heading, row[i]])));
}
