// Tests of the prices of three firms in a real browser: what the calculator shows while a visitor chooses, and what the
// inbox shows of the request. The amounts are calculated by hand in cmd/siteapi/OPERATIONS.md.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, watchedPage } from "./browser.mjs";
import { openInbox } from "./inbox.mjs";
import { startService } from "../../../../../schema/clients/service.mjs";

/**
 * Firms as the Studio stores them, with a visitor's choices. `typed` has the quantities as the language writes them.
 * `shown` has the lines of the estimate from top to bottom, `inbox` the facts about the price in each language.
 */
const firms = {
  cleaner: {
    rules: { currency: "EUR", minimum: 80, taxPercent: 19, taxLabel: { en: "VAT", es: "IVA", ro: "TVA" }, enforce: true },
    options: [
      {
        group: "projectType", slug: "cleaning", label: { en: "Cleaning", es: "Limpieza", ro: "Curățenie" }, price: 30,
        unit: "m²", unitPrice: 2.5, minQuantity: 10, maxQuantity: 500, step: 0.5,
      },
      { group: "timeline", slug: "weekly", label: { en: "Weekly", es: "Semanal", ro: "Săptămânal" }, percent: -10 },
    ],
    visits: [
      {
        locale: "en", chosen: ["cleaning", "weekly"], typed: { cleaning: "120" },
        shown: ["Cleaning · 120 m² × €2.50 + €30 €330", "Weekly -€33", "+ 19% VAT €56.43 – €62.13", "Total €353.43 – €389.13"],
        range: "€297 – €327", note: "A guide price. The proposal states the exact price.",
        inbox: {
          en: ["Project|Cleaning · 120 m² × €2.50 + €30 · €330", "19% VAT|€56.43 – €62.13", "Total with tax|€353.43 – €389.13"],
          es: ["Proyecto|Limpieza · 120 m² × 2,50 € + 30 € · 330 €", "19 % VAT|56,43-62,13 €", "Total con impuestos|353,43-389,13 €"],
          ro: ["Proiect|Curățenie · 120 m² × 2,50 EUR + 30 EUR · 330 EUR", "19 % VAT|56,43 - 62,13 EUR", "Total cu taxe|353,43 - 389,13 EUR"],
        },
      },
      { // below the minimum
        locale: "es", chosen: ["cleaning", "weekly"], typed: { cleaning: "10,0" },
        shown: ["Limpieza · 10 m² × 2,50 € + 30 € 55 €", "Semanal -5,50 €", "Importe mínimo 30,50 €", "+ 19 % IVA 15,20-16,72 €", "Total 95,20-104,72 €"],
        range: "80-88 €", note: "Precio orientativo.",
        inbox: { en: ["Raised to the minimum|€30.50", "19% VAT|€15.20 – €16.72", "Total with tax|€95.20 – €104.72"] },
      },
    ],
  },
  painter: { // whose prices are exact
    rules: { currency: "EUR", spreadPercent: 0, taxPercent: 10, taxLabel: "VAT", enforce: true },
    options: [{ group: "projectType", slug: "painting", label: { en: "Painting", es: "Pintura", ro: "Zugrăvit" }, price: 540 }],
    visits: [
      {
        locale: "en", chosen: ["painting"], typed: {},
        shown: ["Painting €540", "+ 10% VAT €54", "Total €594"],
        range: "€540", note: "A guide price. The proposal states the exact price.",
        inbox: { en: ["10% VAT|€54", "Total with tax|€594"] },
      },
    ],
  },
  translator: {
    rules: { currency: "EUR", taxNote: { en: "Exempt from VAT.", es: "Exento de IVA.", ro: "Scutit de TVA." }, enforce: true },
    options: [
      { group: "projectType", slug: "translation", label: { en: "Translation", es: "Traducción", ro: "Traducere" }, price: 0 },
      {
        group: "feature", slug: "german", label: { en: "German", es: "Alemán", ro: "Germană" }, graduated: true,
        unit: { en: "words", es: "palabras", ro: "cuvinte" }, tiers: [{ upTo: 1000, unitPrice: 0.12 }, { unitPrice: 0.1 }],
      },
      {
        group: "feature", slug: "english", label: { en: "English", es: "Inglés", ro: "Engleză" },
        unit: { en: "words", es: "palabras", ro: "cuvinte" }, unitPrice: 0.12,
      },
      { group: "timeline", slug: "rush", label: { en: "Rush", es: "Urgente", ro: "Urgent" }, percent: 25 },
    ],
    visits: [
      {
        locale: "es", chosen: ["translation", "german", "english", "rush"], typed: { german: "1.250", english: "300" },
        shown: ["Traducción incluido", "Alemán · 1.250 palabras 145 €", "Inglés · 300 palabras × 0,12 € 36 €", "Urgente 45,25 €", "Redondeo -0,25 €"],
        range: "226-249 €", note: "Exento de IVA. Precio orientativo.",
        inbox: {
          en: ["Timeline|Rush · €45.25", "Rounding|-€0.25"],
          ro: ["Termen|Urgent · 45,25 EUR", "Rotunjire|-0,25 EUR"],
        },
      },
    ],
  },
  printer: {
    rules: { currency: "EUR", taxPercent: 8, taxIncluded: true, taxLabel: "VAT" }, // not enforced
    options: [
      {
        group: "projectType", slug: "flyers", label: { en: "Flyers", es: "Folletos", ro: "Fluturași" }, price: 45,
        unit: { en: "copies", es: "copias", ro: "bucăți" }, tiers: [{ upTo: 999.99, unitPrice: 0.06 }, { unitPrice: 0.035 }],
        minQuantity: 100, step: 50,
      },
    ],
    visits: [
      {
        locale: "ro", chosen: ["flyers"], typed: { flyers: "2500" },
        shown: ["Fluturași · 2.500 bucăți × 0,035 € + 45 € 132,50 €", "Rotunjire 0,50 €", "inclusiv 8 % VAT 9,85 - 10,81 €"],
        range: "133 - 146 €", note: "Preț orientativ.",
        inbox: {
          en: ["8% VAT|€9.85 – €10.81 · included in the price"],
          es: ["8 % VAT|9,85-10,81 € · incluido en el precio"],
        },
      },
    ],
  },
};

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

/** Replaces the blanks that keep words on one line. */
const plain = (text) => text.replace(/\s+/gu, " ").trim();

/** Waits until a function returns what is expected. */
async function becomes(page, current, expected) {
  let got;
  for (let tries = 0; tries < 600; tries++) {
    got = await current();
    if (JSON.stringify(got) === JSON.stringify(expected)) return;
    await page.waitForTimeout(50);
  }
  assert.deepEqual(got, expected);
}

for (const [name, { rules, options, visits }] of Object.entries(firms)) {
  test(`the prices of a ${name}`, async (t) => {
    await service.publish([
      { _id: "siteSettings", _type: "siteSettings", title: "Lumen" },
      { _id: "quoteRules", _type: "quoteRules", spreadPercent: 10, roundTo: 1, ...rules },
      ...options.map((option) => ({ _id: `option-${option.slug}`, _type: "quoteOption", ...option })),
    ]);
    for (const visit of visits) await t.test(visit.locale, (t) => price(t, name, visit));
  });
}

test("prices have the currency of the rules from the first one, and a quantity that can't be read is not sent", async (t) => {
  await service.publish([
    { _id: "siteSettings", _type: "siteSettings", title: "Lumen" },
    { _id: "quoteRules", _type: "quoteRules", currency: "RON", spreadPercent: 10, roundTo: 1, enforce: true },
    {
      _id: "option-paint", _type: "quoteOption", group: "projectType", slug: "paint", label: "Paint",
      unit: "m²", unitPrice: 4.5, minQuantity: 0.03, maxQuantity: 1000, step: 0.07,
    },
    { _id: "option-later", _type: "quoteOption", group: "timeline", slug: "later", label: "Later", percent: -12.5 },
  ]);
  const { page, faults, requests } = await watchedPage(browser.context, service.base);
  t.after(() => page.close());
  await page.goto(`${service.base}/calculator?lang=ro`);
  const labels = async () => (await page.locator("label[part=choice]").allInnerTexts()).map(plain);
  await becomes(page, labels, ["Paint 4,50 lei / m²", "Later − 12,5 %"]);
  const note = page.getByText("Preț orientativ");
  assert.equal(await note.count(), 0, "a note on a price without one");

  await page.locator("[value=paint]").check();
  await page.getByText("Între 0,03 și 1.000, în pași de 0,07").waitFor();
  const number = page.locator('[id="paint.quantity"]');
  await number.fill("100,06");
  await note.waitFor();
  const contact = { firstName: "Ana", lastName: "Pop", email: "ana@example.com" };
  for (const [id, value] of Object.entries(contact)) await page.locator(`#${id}`).fill(value);
  for (const typed of ["cam 12", "0.500", "0"]) {
    await number.fill(typed);
    await page.locator("aside button").click();
    await number.and(page.locator(":focus")).waitFor();
    await page.getByText("Introduceți un număr care respectă limitele.").waitFor();
    assert.equal(await number.getAttribute("aria-describedby"), "paint.error paint.bounds");
  }
  assert.ok(!requests.includes("/api/quote/submit"));

  await number.fill("999,99");
  await number.press("ArrowUp");
  assert.equal(await number.inputValue(), "999,98", "the largest quantity that is a step");
  await number.fill(""); // to be agreed
  const sent = page.waitForRequest("**/api/quote/submit");
  await page.locator("aside button").click();
  const { min, max, currency } = (await sent).postDataJSON().estimate;
  assert.deepEqual([min, max, currency], [0, 0, "RON"]);
  await page.locator(".accepted code").waitFor();
  assert.deepEqual(faults, []);
});

async function price(t, name, { locale, chosen, typed, shown, range, note, inbox }) {
  const { page, faults } = await watchedPage(browser.context, service.base);
  t.after(() => page.close());
  await page.goto(`${service.base}/calculator?lang=${locale}`);
  for (const slug of chosen) await page.locator(`[value=${slug}]`).check();
  for (const [slug, count] of Object.entries(typed)) await page.locator(`[id="${slug}.quantity"]`).fill(count);

  await becomes(page, async () => (await page.locator("aside li").allInnerTexts()).map(plain), shown);
  assert.equal(plain(await page.locator("output.range").innerText()), range);
  const aside = plain(await page.getByRole("complementary").innerText());
  assert.ok(aside.includes(note), aside);

  const contact = { firstName: "Ana", lastName: name, email: `${name}-${locale}@example.com` };
  for (const [id, value] of Object.entries(contact)) await page.locator(`#${id}`).fill(value);
  await page.locator("aside button").click();
  const reference = await page.locator(".accepted code").innerText();

  const operator = await openInbox(t, browser.context, service.base, `#leads?lead=${reference}`);
  await operator.page.getByRole("heading", { name: `Ana ${name}` }).waitFor();
  for (const [language, facts] of Object.entries(inbox)) {
    await operator.page.locator("select.language").selectOption(language);
    for (const fact of facts) {
      const [title, value] = fact.split("|");
      const row = operator.page.locator(".fact").filter({ hasText: title }).filter({ hasText: value });
      await row.first().waitFor();
    }
  }
  assert.deepEqual([...faults, ...operator.faults], []);
}
