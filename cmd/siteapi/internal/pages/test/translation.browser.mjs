// Tests of pages that a browser translates: they show what the untranslated page shows.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, watchedPage } from "./browser.mjs";
import { button, logIn, operate, row, submit } from "./inbox.mjs";
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

/**
 * Replaces each text node by two nested elements, as Chromium's translator does, also in what the page adds later. Texts
 * stay as they are, so that they can be compared; those in elements that are not to be translated are left alone.
 */
function translate() {
  const wrap = (text) => {
    const parent = text.parentElement;
    if (!text.data.trim() || !parent || parent.closest("font, script, style, textarea, [translate=no]")) return;
    const [outer, inner] = [document.createElement("font"), document.createElement("font")];
    inner.textContent = text.data;
    outer.append(inner);
    text.replaceWith(outer);
  };
  const follow = (root) => {
    const all = () => {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      const texts = [];
      while (walker.nextNode()) texts.push(walker.currentNode);
      texts.forEach(wrap);
    };
    all();
    new MutationObserver(all).observe(root, { childList: true, characterData: true, subtree: true });
  };
  addEventListener("DOMContentLoaded", async () => {
    follow(document.body);
    const element = document.querySelector("siteapi-calculator");
    if (element) await customElements.whenDefined(element.localName);
    if (element) follow(element.shadowRoot);
  });
}

/** The ages of leads, which differ between the two pages on a slow machine. */
const ages = /just now|\d+ minutes? ago|chiar acum|acum \d+ (de )?minut\S*/g;

/** Returns a function with the number of a page's requests that have no response yet. */
function requestsOf(page) {
  const waiting = new Set();
  page.on("request", (request) => waiting.add(request));
  page.on("response", (response) => waiting.delete(response.request()));
  page.on("requestfailed", (request) => waiting.delete(request));
  return () => waiting.size;
}

/**
 * Returns the text of a page that for half a second has neither changed nor waited for a response, without the history
 * of a lead, which grows.
 */
async function settled(page, requests) {
  const shown = page.locator(".box").or(page.locator("body:not(:has(siteapi-calculator))"));
  const read = async () => (await shown.innerText()).replace(/^.* token .*\n/gm, "").replace(ages, "age");
  let text = await read();
  for (let same = 0; same < 5; ) {
    await page.waitForTimeout(100);
    const now = await read();
    same = now === text && requests() === 0 ? same + 1 : 0;
    text = now;
  }
  return text;
}

/** Follows steps on a plain and on a translated page, and compares what they show after each. */
async function compare(t, path, steps) {
  const shown = [];
  for (const translated of [false, true]) {
    const { page, faults } = await watchedPage(browser.context, service.base);
    t.after(() => page.close());
    const requests = requestsOf(page);
    if (translated) await page.addInitScript(translate);
    await page.goto(service.base + path);

    for (const [what, act] of Object.entries(steps)) {
      await act(page);
      const text = await settled(page, requests);
      if (translated) assert.equal(text, shown.shift(), what);
      else shown.push(text);
    }
    assert.deepEqual(faults.filter((fault) => !/status (of )?40[01]/.test(fault)), []);
  }
}

/** The amounts that a translator would change. */
const translatedAmounts = (page) =>
  page.evaluate(() =>
    [...(document.querySelector("siteapi-calculator")?.shadowRoot ?? document).querySelectorAll("body *, .box *")]
      .filter((e) => /[€$]\s?\d|\d\s?[€$]/.test(e.textContent) && !e.childElementCount && !e.closest("[translate=no], option"))
      .map((e) => e.textContent));

test("the calculator shows prices, errors and thanks while it is translated", async (t) => {
  const check = (role, name) => (page) => page.getByRole(role, { name }).check();
  const fill = (name, value) => (page) => page.getByRole("textbox", { name, exact: true }).fill(value);
  const send = (page) => page.getByRole("button", { name: "Request a quote" }).click();
  await compare(t, "/calculator?lang=en", {
    empty: (page) => page.getByText("Choose a project").waitFor(),
    "a project": check("radio", /^Online shop/),
    "a feature": check("checkbox", /^Blog/),
    "another project": check("radio", /^Landing page/),
    price: async (page) => {
      await page.getByRole("status").getByText("€3,", { exact: false }).or(page.getByText("€2,")).first().waitFor();
      assert.deepEqual(await translatedAmounts(page), []);
    },
    errors: send,
    "one error less": fill("First name", "Ana"),
    "another error": async (page) => {
      await fill("E-mail", "ana@")(page);
      await send(page);
      await page.getByText("This is not an e-mail address").waitFor();
    },
    Spanish: (page) => page.getByRole("link", { name: "ES Español" }).click(),
    English: (page) => page.getByRole("link", { name: "EN English" }).click(),
    corrected: async (page) => {
      await fill("Last name", "Pop")(page);
      await fill("E-mail", "ana@example.com")(page);
    },
    thanks: async (page) => {
      await send(page);
      await page.getByRole("link", { name: "Download the PDF" }).waitFor();
      await page.locator("code").evaluate((code) => (code.hidden = true)); // another reference
    },
    "a new form": (page) => page.getByRole("button", { name: "Start a new estimate" }).click(),
    "a price again": check("radio", /^Online shop/),
  });
});

test("the inbox shows leads, changes and languages while it is translated", async (t) => {
  const person = { firstName: "Ioana", lastName: "Pop", email: "ioana@example.com", phone: "+40 721 000 000" };
  const reference = await submit(service, person);
  await operate(service, "mutation ($id: String!) { markLeadAnswered(lead: $id) { lead { reference } } }", { id: reference });
  const detail = (page) => page.getByRole("region", { name: "Lead", exact: true });
  await compare(t, "/admin#leads", {
    login: (page) => page.locator("#token").waitFor(),
    "a wrong token": async (page) => {
      await page.locator("#token").fill("wrong");
      await page.locator("form [type=submit]").click();
      await page.getByRole("alert").waitFor();
    },
    leads: async (page) => {
      await logIn(page);
      await row(page, "Ioana").waitFor();
    },
    "nobody found": (page) => page.getByRole("searchbox").fill("nobody"),
    "somebody found": (page) => page.getByRole("searchbox").fill("ioana"),
    "a lead": async (page) => {
      await row(page, "Ioana").click();
      await detail(page).getByText("+40 721 000 000").waitFor();
      assert.deepEqual(await translatedAmounts(page), []);
    },
    "another status": (page) => detail(page).getByLabel("Status").selectOption("CONTACTED"),
    "another status by a colleague": async (page) => {
      await operate(service, "mutation ($id: String!) { setLeadStatuses(leads: [$id], status: WAITING) { changed } }", { id: reference });
      await page.getByText("This lead was changed just now.").waitFor();
    },
    "the first status": (page) => detail(page).getByLabel("Status").selectOption("NEW"),
    Romanian: (page) => page.locator(".language").selectOption("ro"),
    English: (page) => page.locator(".language").selectOption("en"),
    funnel: (page) => page.evaluate(() => (location.hash = "#funnel")),
    deliveries: (page) => page.evaluate(() => (location.hash = "#deliveries")),
    "log out": (page) => button(page, "Log out").click(),
  });
});
