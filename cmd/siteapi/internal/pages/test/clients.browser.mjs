// Tests of the example clients in schema/clients in a real browser: bundled, on a page of the service.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { startService } from "../../../../../schema/clients/service.mjs";
import { openBrowser, watchedPage } from "./browser.mjs";

const folder = fileURLToPath(new URL("../../../../../schema/clients/src", import.meta.url));
const contents = `
  import { apolloSite } from "./apollo";
  import { graphqlRequestSite } from "./graphql-request";
  import { urqlSite } from "./urql";
  globalThis.clients = { apolloSite, graphqlRequestSite, urqlSite };`;

let service;
let browser;
before(async () => {
  service = await startService();
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Runs in the browser: reads the settings, twice by the query's hash, and submits an invalid quote. */
async function tryOut(name) {
  const url = new URL("/graphql", location.href).href;
  const settings = [];
  for (const options of [{}, { get: true }, { persisted: true }, { persisted: true }]) {
    settings.push((await globalThis.clients[name]({ url, ...options }).settings())?.contactPhones?.length);
  }

  const contact = { firstName: "", lastName: "x".repeat(101), email: "ana@example.com" };
  const estimate = { min: 1, max: 2, currency: "EUR" };
  const quote = { sessionId: "browser", contact, selections: { projectType: "web-app" }, estimate };
  const refused = await globalThis.clients[name]({ url }).submit(quote).catch((error) => error);
  return { settings, code: refused.code, fields: refused.fields?.map(({ field, code, params }) => ({ field, code, params })) };
}

for (const name of ["apolloSite", "urqlSite", "graphqlRequestSite"]) {
  test(`${name} reads and submits in a browser, and reads the invalid fields`, async () => {
    const { outputFiles } = await esbuild.build({
      stdin: { contents, resolveDir: folder },
      bundle: true,
      write: false,
      platform: "browser",
    });
    const { page, faults } = await watchedPage(browser.context, service.base);
    await page.goto(`${service.base}/calculator`);
    await page.evaluate(outputFiles[0].text);
    const { settings, code, fields } = await page.evaluate(tryOut, name);
    assert.deepEqual(settings, [3, 3, 3, 3]);
    assert.equal(code, "BAD_USER_INPUT");
    assert.deepEqual(fields, [
      { field: "contact.firstName", code: "required", params: undefined },
      { field: "contact.lastName", code: "too_long", params: { max: 100 } },
    ]);
    assert.deepEqual(faults.filter((fault) => !/status (of )?400/.test(fault)), []); // the expected rejections
    await page.close();
  });
}
