// Tests of the page of a quote in a real browser. Screenshots are in test/screenshots.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { openBrowser, picture, violations, watchedPage } from "./browser.mjs";
import { startService } from "../../../../../schema/clients/service.mjs";

const words = {
  en: { title: "Project estimate", withdraw: "Withdraw News by mail", withdrawn: "Withdrawn on", ask: "Ask for deletion", asked: "You asked for deletion on" },
  es: { title: "Presupuesto orientativo", withdraw: "Retirar News by mail", withdrawn: "Retirado el", ask: "Pedir la eliminación", asked: "Pidió la eliminación el" },
  ro: { title: "Estimare de preț", withdraw: "Retrageți News by mail", withdrawn: "Retras pe", ask: "Cereți ștergerea", asked: "Ați cerut ștergerea pe" },
};

let service;
let folder;
before(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), "siteapi-quote-"));
});
after(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const typical = {
  contact: { firstName: "Ștefania", lastName: "Núñez", email: "stefania@example.com", phone: "+40 721 555 014", company: "Brânză & Fiii <SRL>" },
  selections: { projectType: "ecommerce", features: ["blog", "payments", "not-in-the-cms"], complexity: "complex", timeline: "flexible" },
};

/** The longest values that a visitor can send, without a blank to break a line at. */
const longest = {
  contact: {
    firstName: "W".repeat(100),
    lastName: "M".repeat(100),
    email: `${"a".repeat(64)}@${`${"b".repeat(59)}.`.repeat(3)}example`,
    phone: "+40 721 555 014 ext. 0123456789",
    company: "Ț".repeat(100),
  },
  selections: { projectType: "p".repeat(64), features: Array.from({ length: 50 }, (_, i) => `${"f".repeat(62)}${10 + i}`) },
};

/** Submits a quote request, and returns the address of its page in its language. */
async function submit(locale, { contact, selections } = typical) {
  const response = await fetch(`${service.base}/api/quote/submit`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      sessionId: `page-${Math.random()}`,
      locale,
      contact,
      selections,
      estimate: { min: 14400, max: 19400, currency: "EUR" },
      consents: [{ purpose: "marketing", given: true, text: "News by mail" }],
    }),
  });
  const { quoteUrl, pdfUrl } = await response.json();
  return { page: service.base + quoteUrl, pdf: service.base + pdfUrl };
}

/** The different words of a PDF, in order, apart from those of its foot and the numbers of the steps. */
async function printed(name, content) {
  const file = join(folder, `${name}.pdf`);
  await writeFile(file, content);
  const { stdout } = await promisify(execFile)("pdftotext", ["-raw", file, "-"]);
  const foot = /^(Page|Página|Pagina) \d+ (of|de|din) \d+$|^.* · [A-Z0-9]{8}( (Page|Página|Pagina) \d+ (of|de|din) \d+)?$/gm;
  const text = stdout.replace(foot, " ").normalize("NFKC").replaceAll("•", " ");
  return [...new Set(text.split(/\s+/).filter((word) => word && !/^\d\.?$/.test(word)))].sort();
}

/** Whether a page is as wide as the screen. */
const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

for (const javaScriptEnabled of [true, false]) {
  test(`a visitor reads the quote and acts on it ${javaScriptEnabled ? "with" : "without"} script`, async () => {
    const found = (page) => (javaScriptEnabled ? violations(page) : []); // axe is a script
    const browser = await openBrowser({ javaScriptEnabled });
    try {
      for (const [locale, expected] of Object.entries(words)) {
        const { page, faults, requests } = await watchedPage(browser.context, service.base);
        const quote = await submit(locale);
        await page.goto(quote.page);
        await page.getByRole("heading", { level: 1, name: expected.title }).waitFor();
        assert.equal(await page.locator("html").getAttribute("lang"), locale);
        assert.deepEqual(requests, ["/api/quote/page"], "it loads nothing else");
        assert.deepEqual(await found(page), []);

        const own = await printed(`${locale}-page`, await page.pdf({ format: "A4" }));
        const drawn = await printed(`${locale}-pdf`, Buffer.from(await (await fetch(`${quote.pdf}&locale=${locale}`)).arrayBuffer()));
        assert.deepEqual(own, drawn, "it is printed like the PDF");

        await page.getByRole("button", { name: expected.withdraw }).click();
        await page.getByText(expected.withdrawn).waitFor();
        assert.equal(await page.getByRole("button", { name: expected.withdraw }).count(), 0);
        await page.getByRole("button", { name: expected.ask }).click();
        await page.getByRole("status").getByText(expected.asked).waitFor();
        await page.reload(); // sends no form again
        await page.getByRole("status").getByText(expected.asked).waitFor();

        assert.equal(await page.locator("html").getAttribute("lang"), locale);
        assert.deepEqual(await found(page), []);
        assert.deepEqual(faults, []);
        await page.close();
      }
    } finally {
      await browser.close();
    }
  });
}

for (const colorScheme of ["light", "dark"]) {
  test(`the page fits a screen of 320 pixels, however long its values are: ${colorScheme}`, async () => {
    const browser = await openBrowser({ colorScheme, viewport: { width: 320, height: 740 }, isMobile: true, hasTouch: true });
    try {
      for (const locale of Object.keys(words)) {
        for (const [kind, values] of Object.entries({ typical, longest })) {
          const { page, faults } = await watchedPage(browser.context, service.base);
          await page.goto((await submit(locale, values)).page);
          await page.getByRole("heading", { level: 1 }).waitFor();
          assert.ok(await fits(page), `${locale}, ${kind}: it is wider than the screen`);
          assert.deepEqual(await violations(page), []);
          assert.ok((await picture(page, `quote-${locale}-${colorScheme}-${kind}`)).colors > 100);
          assert.deepEqual(faults, []);
          await page.close();
        }
      }

      const { page } = await watchedPage(browser.context, service.base);
      await page.goto(`${service.base}/api/quote/page?id=unknown&locale=ro`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      assert.ok(await fits(page));
      assert.deepEqual(await violations(page), []);
    } finally {
      await browser.close();
    }
  });
}

test("the firm's texts are shown as text, and long ones and large amounts fit", async () => {
  const file = join(service.folder, "content.json");
  const content = await readFile(file, "utf8");
  const texts = { quoteIntro: "<script>document.title = 'evil'</script> <img src=x onerror=alert(1)>", terms: "W".repeat(2000), thanks: "<b>Thanks</b>" };
  const large = { quoteRules: { currency: "RON", taxPercent: 19.25, roundTo: 0.01 }, ecommerce: { price: 654_321_987.65 } };
  const documents = JSON.parse(content)
    .filter(({ _id }) => _id !== "quoteTexts")
    .map((document) => ({ ...document, ...large[document.slug?.current ?? document._type] }));
  const localized = Object.entries(texts).map(([name, en]) => [name, { en }]);
  const browser = await openBrowser({ viewport: { width: 320, height: 740 } });
  try {
    await service.publish([...documents, { _id: "quoteTexts", _type: "quoteTexts", ...Object.fromEntries(localized) }]);
    const { page, faults } = await watchedPage(browser.context, service.base);
    await page.goto((await submit("en")).page);
    await page.getByText(texts.quoteIntro).waitFor();
    await page.getByText(texts.terms).waitFor();
    assert.match(await page.title(), /^Project estimate/);
    await page.getByText("19.25%").first().waitFor();
    assert.ok(await fits(page));
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(faults, []);
  } finally {
    await browser.close();
    await writeFile(file, content);
  }
});
