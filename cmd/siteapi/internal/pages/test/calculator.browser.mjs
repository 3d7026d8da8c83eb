// Tests of the calculator, the front page and the API reference in a real browser.
// Screenshots are in test/screenshots.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { openBrowser, picture, violations, watchedPage } from "./browser.mjs";
import { binary, startService, tokens } from "../../../../../schema/clients/service.mjs";

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

async function open(path, context = browser.context) {
  const watched = await watchedPage(context, service.base);
  await watched.page.goto(service.base + path);
  return watched;
}

/** The faults other than those that a test caused. */
const unexpected = (faults) => faults.filter((fault) => !/status (of )?(400|503)|ERR_FAILED|\/api\/quote\/submit/.test(fault));

/** The counts of `siteapi funnel`. */
async function funnel(...filter) {
  const env = { ENVIRONMENT: "development", DATA_DIR: service.folder };
  const { stdout } = await promisify(execFile)(binary, ["funnel", "--json", ...filter], { env });
  return JSON.parse(stdout);
}

const visitors = {
  en: {
    project: /^Online shop/,
    features: [/^Blog/, /^Online payments/],
    timeline: /^Flexible/,
    range: "€10,400 – €14,000",
    send: "Request a quote",
    labels: ["First name", "Last name", "E-mail", "Phone optional"],
    errors: ["Please fill this in.", "Please fill this in.", "This is not an e-mail address", "A phone number has at least five digits."],
    retrying: "We are trying again",
    pdf: "Download the PDF",
    file: "quote",
    phone: "Customer support",
  },
  es: {
    project: /^Tienda en línea/,
    features: [/^Blog/, /^Pagos en línea/],
    timeline: /^Flexible/,
    range: "10.400-14.000 €",
    send: "Pedir presupuesto",
    labels: ["Nombre", "Apellidos", "Correo electrónico", "Teléfono opcional"],
    errors: ["Rellene este campo.", "Rellene este campo.", "No es una dirección de correo", "Un teléfono tiene al menos cinco cifras."],
    retrying: "Lo intentamos de nuevo",
    pdf: "Descargar el PDF",
    file: "presupuesto",
    phone: "Atención al cliente",
  },
  ro: {
    project: /^Magazin online/,
    features: [/^Blog/, /^Plăți online/],
    timeline: /^Flexibil/,
    range: "10.400 - 14.000 €",
    send: "Cereți o ofertă",
    labels: ["Prenume", "Nume", "E-mail", "Telefon opțional"],
    errors: ["Completați acest câmp.", "Completați acest câmp.", "Nu este o adresă de e-mail", "Un număr de telefon are cel puțin cinci cifre."],
    retrying: "Încercăm din nou",
    pdf: "Descărcați PDF-ul",
    file: "oferta",
    phone: "Asistență clienți",
  },
};

test("a visitor chooses, corrects the form, submits despite a 503 and a lost response, and downloads the PDF", { concurrency: true }, async (t) => {
  await Promise.all(Object.entries(visitors).map(([locale, expected]) => t.test(locale, () => visit(locale, expected))));
  const { steps, leads } = await funnel();
  const reached = Object.fromEntries(steps.map(({ name, count }) => [name, count]));
  assert.deepEqual([reached.VISITED, reached.SUBMITTED, leads], [3, 3, 3], "three sessions with one lead each");
});

async function visit(locale, expected) {
  const { page, faults } = await open(`/calculator?lang=${locale}`);
  const tracked = page.waitForResponse("**/api/quote/track");
  await page.getByRole("radio", { name: expected.project }).check();
  for (const name of expected.features) await page.getByRole("checkbox", { name }).check();
  await page.getByRole("radio", { name: expected.timeline }).check();
  await page.getByRole("status").getByText(expected.range, { exact: true }).waitFor();
  await page.getByRole("complementary").getByText(expected.phone).waitFor();
  await tracked;

  const [firstName, lastName, email, phone] = expected.labels.map((name) => page.getByRole("textbox", { name, exact: true }));
  await email.fill("ana@");
  await phone.fill("12");
  await page.getByRole("button", { name: expected.send }).click();
  await page.getByRole("alert").filter({ hasText: /./ }).waitFor();
  for (const [i, field] of [firstName, lastName, email, phone].entries()) {
    const described = await field.evaluate((e) => e.getRootNode().getElementById(e.getAttribute("aria-describedby"))?.textContent);
    assert.ok(described?.startsWith(expected.errors[i]), `${expected.labels[i]}: ${described}`);
    assert.equal(await field.getAttribute("aria-invalid"), "true");
  }
  assert.ok(await firstName.evaluate((e) => e === e.getRootNode().activeElement), "the first field with an error has the focus");
  assert.ok((await picture(page, `calculator-${locale}-errors`)).colors > 100);

  const keys = [];
  await page.route("**/api/quote/submit", async (route) => {
    keys.push(await route.request().headerValue("idempotency-key"));
    if (keys.length === 1) return route.fulfill({ status: 503, headers: { "Retry-After": "1" }, json: { code: "UPSTREAM_UNAVAILABLE" } });
    const response = await route.fetch();
    return keys.length === 2 ? route.abort() : route.fulfill({ response }); // accepted, but the response is lost
  });
  await firstName.fill("Ștefania");
  await lastName.fill("Țurcanu");
  await email.fill(`visitor-${locale}@example.com`);
  await phone.fill("");
  await page.getByRole("button", { name: expected.send }).click();
  await page.getByRole("status").getByText(expected.retrying).waitFor();
  const link = page.getByRole("link", { name: expected.pdf });
  await link.waitFor();
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1, "every try has the same key");

  const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
  assert.match(download.suggestedFilename(), new RegExp(`^${expected.file}-\\w+\\.pdf$`));
  assert.match(await readFile(await download.path(), "latin1"), /^%PDF-/);
  assert.ok((await picture(page, `calculator-${locale}-accepted`)).colors > 100);
  assert.deepEqual(unexpected(faults), []);
  await page.close();
}

test("the keyboard is sufficient, and untracked choices are sent when the page is left", async () => {
  const { page, faults, requests } = await open("/calculator?lang=en");
  await page.getByRole("radio", { name: /^Landing page/ }).focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowDown");
  await page.getByRole("status").getByText("€4,000 – €5,400").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  assert.ok(await page.getByRole("checkbox", { name: /^Content management/ }).isChecked());
  assert.ok(!requests.includes("/api/quote/track"));
  await page.goto(`${service.base}/healthz`); // leaves the page before the 800 ms have passed
  let chosen;
  for (let tries = 0; tries < 1200 && !chosen; tries++) {
    await page.waitForTimeout(50);
    chosen = (await funnel()).choices.find(({ field, value }) => field === "projectType" && value === "website");
  }
  assert.equal(chosen?.count, 1);
  assert.deepEqual(unexpected(faults), []);
  await page.close();
});

test("changing the language loses nothing, and successive changes are tracked once", async () => {
  const { page, faults, requests } = await open("/calculator?lang=en");
  await page.getByRole("radio", { name: /^Redesign/ }).waitFor();
  await page.locator("form").evaluate((form) => ["redesign", "blog", "seo"].forEach((slug) => form.querySelector(`[value=${slug}]`).click()));
  await page.waitForResponse("**/api/quote/track");
  assert.equal(requests.filter((path) => path === "/api/quote/track").length, 1);
  await page.getByRole("link", { name: "RO Română" }).click();
  await page.getByRole("heading", { name: "Cât va costa proiectul" }).waitFor();
  await page.getByRole("radio", { name: /^Reproiectare/ }).waitFor();
  assert.ok(await page.getByRole("radio", { name: /^Reproiectare/ }).isChecked());
  assert.equal(await page.evaluate(() => document.documentElement.lang), "ro");
  assert.deepEqual(unexpected(faults), []);
  await page.close();
});

test("fields that a password manager fills in are sent, and the domain of the address as it was typed", async () => {
  const { page, faults } = await open("/calculator?lang=en");
  await page.getByRole("radio", { name: /^Landing page/ }).check();
  await page.locator("form").evaluate((form) => {
    for (const [id, value] of Object.entries({ firstName: "Ana", lastName: "Pop", company: "Lumen" })) {
      const field = form.querySelector(`#${id}`);
      field.value = value;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
  await page.getByRole("textbox", { name: "E-mail", exact: true }).pressSequentially("ana@faß.de");
  const sent = page.waitForRequest("**/api/quote/submit");
  await page.getByRole("button", { name: "Request a quote" }).click();
  const { contact } = (await sent).postDataJSON();
  assert.deepEqual(contact, { firstName: "Ana", lastName: "Pop", email: "ana@faß.de", company: "Lumen" });
  await page.getByRole("link", { name: "Download the PDF" }).waitFor();
  assert.deepEqual(unexpected(faults), []);
  await page.close();
});

test("a reload and the way back from the quote's page keep an accepted request, and the browser's history is left alone", async () => {
  const { page, faults } = await open("/calculator?lang=en");
  const sent = page.locator(".accepted code");
  const entries = await page.evaluate(() => history.length);
  const email = `${"a".repeat(60)}@subdomain.of.a.long.domain.example.com`;
  await page.getByRole("radio", { name: /^Landing page/ }).check();
  for (const [id, value] of Object.entries({ firstName: "Ana", lastName: "Pop", email })) await page.fill(`#${id}`, value);
  await page.getByRole("button", { name: "Request a quote" }).click();
  const reference = await sent.innerText();
  assert.deepEqual([new URL(page.url()).hash, await page.evaluate(() => history.length)], ["", entries]);
  await page.reload();
  assert.equal(await sent.innerText(), reference);
  await page.getByText("One of us reads your request").waitFor(); // the firm's thanks
  await page.setViewportSize({ width: 320, height: 640 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a long address widens the page");
  await page.setViewportSize({ width: 1360, height: 860 });
  await page.getByRole("link", { name: "RO Română" }).click();
  await page.getByRole("heading", { name: "Mulțumim, Ana!" }).waitFor();
  await page.getByText("Unul dintre noi citește cererea").waitFor();
  await page.getByRole("link", { name: "Deschideți rezumatul" }).click();
  await page.getByRole("heading", { name: "Estimare de preț" }).waitFor();
  await page.goBack();
  assert.equal(await sent.innerText(), reference);
  await page.getByRole("button", { name: "Corectați-o" }).click();
  await page.locator("#email:focus").waitFor();
  assert.equal(await page.inputValue("#email"), email);
  assert.deepEqual(unexpected(faults), []);
  await page.close();
});

test("typing after a rejected form keeps the focus in its field", async () => {
  const { page } = await open("/calculator?lang=en");
  await page.getByRole("radio", { name: /^Landing page/ }).check();
  await page.getByRole("button", { name: "Request a quote" }).click();
  const [first, last] = ["First name", "Last name"].map((name) => page.getByRole("textbox", { name, exact: true }));
  await first.and(page.locator(":focus")).waitFor();
  await last.click();
  await page.keyboard.type("Stone");
  assert.deepEqual([await first.inputValue(), await last.inputValue()], ["", "Stone"]);
  assert.equal(await last.getAttribute("aria-invalid"), null);
  assert.equal(await first.getAttribute("aria-invalid"), "true");
  await page.close();
});

test("an invalid field that the form does not show is explained", async () => {
  const { page } = await open("/calculator?lang=en");
  await page.route("**/api/quote/submit", (route) =>
    route.fulfill({ status: 400, json: { code: "BAD_USER_INPUT", errors: [{ field: "sessionId", code: "invalid_session_id" }] } }),
  );
  await page.getByRole("radio", { name: /^Landing page/ }).check();
  await page.getByRole("button", { name: "Request a quote" }).click();
  await page.getByRole("alert").getByText("Please reload the page").waitFor();
  await page.close();
});

test("a reload and a change of language keep the choices, the typed values and the attribution", async () => {
  const { page } = await open("/calculator?utm_source=letter&lang=en#top");
  await page.getByRole("radio", { name: /^Online shop/ }).check();
  await page.getByRole("textbox", { name: "Company optional" }).fill("Stone & Co");
  await page.reload();
  assert.ok(await page.getByRole("radio", { name: /^Online shop/ }).isChecked());
  assert.equal(await page.getByRole("textbox", { name: "Company optional" }).inputValue(), "Stone & Co");

  await page.getByRole("link", { name: "ES Español" }).click();
  await page.getByRole("textbox", { name: "Empresa opcional" }).waitFor();
  const { search, hash } = new URL(page.url());
  assert.deepEqual([search, hash], ["?utm_source=letter&lang=es", "#top"]);
  await page.close();
});

test("the attribution is sent with the tracked choices, and not stored in the browser", async () => {
  const { page, faults } = await watchedPage(browser.context, service.base);
  await page.goto(`${service.base}/calculator?utm_source=fair&utm_medium=print&utm_campaign=spring&gclid=click&lang=en`, {
    referer: "https://news.example/article?reader=ana",
  });
  const [response] = await Promise.all([
    page.waitForResponse(/\/api\/quote\/track/),
    page.getByRole("radio", { name: /^Online shop/ }).check(),
  ]);
  assert.deepEqual(response.request().postDataJSON().attribution, {
    source: "fair",
    medium: "print",
    campaign: "spring",
    referrer: "https://news.example/article?reader=ana",
    landingPage: `${service.base}/calculator`,
  });
  const stored = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]));
  assert.doesNotMatch(stored, /fair|print|spring|click|news\.example/);

  const { sources } = await funnel("--source", "fair");
  assert.deepEqual(sources.map(({ source, campaign, sessions }) => [source, campaign, sessions]), [["fair", "spring", 1]]);
  assert.deepEqual(faults, []);
  await page.close();
});

const asked = {
  en: {
    policy: "Privacy policy",
    save: "Save my first name and my e-mail as I go, so that you can help me finish.",
    news: "Send me news by e-mail, at most once a month.",
  },
  es: {
    policy: "Política de privacidad",
    save: "Guarden mi nombre y mi correo sobre la marcha, para poder ayudarme a terminar.",
    news: "Envíenme novedades por correo electrónico, como máximo una vez al mes.",
  },
  ro: {
    policy: "Politica de confidențialitate",
    save: "Salvați-mi prenumele și e-mailul pe parcurs, ca să mă puteți ajuta să termin.",
    news: "Trimiteți-mi noutăți prin e-mail, cel mult o dată pe lună.",
  },
};

for (const [locale, { policy, save, news }] of Object.entries(asked)) {
  test(`a visitor is asked for consents, and the answers are sent with their wording: ${locale}`, async () => {
    const { page, faults } = await open(`/calculator?lang=${locale}`);
    const [saveBox, newsBox] = [save, news].map((name) => page.getByRole("checkbox", { name, exact: true }));
    const tracked = (fits) =>
      page.waitForRequest((request) => request.url().endsWith("/api/quote/track") && fits(request.postDataJSON()));
    assert.equal(await page.getByRole("link", { name: policy }).getAttribute("href"), "https://lumen-studio.example/privacy");
    assert.deepEqual([await saveBox.isChecked(), await newsBox.isChecked()], [false, false]);

    const without = tracked(({ consents }) => consents?.[0].given === false);
    await page.locator("[value=landing-page]").check();
    await page.locator("#email").fill(`asked-${locale}@example.com`);
    assert.equal((await without).postDataJSON().formData, undefined, "no typed values are tracked without consent");

    const agreed = tracked(({ consents }) => consents?.[0].given === true);
    await saveBox.focus();
    await page.keyboard.press("Space");
    const { consents, formData } = (await agreed).postDataJSON();
    assert.deepEqual(consents, [{ purpose: "save_progress", text: save, given: true }]);
    assert.equal(formData.email, `asked-${locale}@example.com`);
    assert.ok((await picture(page, `calculator-${locale}-consents`)).colors > 100);
    assert.deepEqual(await violations(page), []);

    // Another language needs another answer; after the return, the first answer is still set.
    const next = { en: "es", es: "ro", ro: "en" }[locale];
    await page.locator(`nav [lang=${next}]`).click();
    const other = page.getByRole("checkbox", { name: asked[next].save, exact: true });
    await other.waitFor();
    assert.ok(!(await other.isChecked()));
    await page.locator(`nav [lang=${locale}]`).click();
    await saveBox.and(page.locator(":checked")).waitFor();

    await page.locator("#firstName").fill("Ana");
    await page.locator("#lastName").fill("Pop");
    const submitted = page.waitForRequest("**/api/quote/submit");
    await page.locator("form button").click();
    assert.deepEqual((await submitted).postDataJSON().consents, [
      { purpose: "save_progress", text: save, given: true },
      { purpose: "marketing", text: news, given: false },
    ]);
    const sentTo = (await submitted).postDataJSON().contact.email;
    await page.locator(".accepted").getByText(sentTo, { exact: true }).waitFor();
    await page.locator(".accepted > p > button").first().click(); // the address is wrong
    await page.locator("#email:focus").waitFor();
    assert.equal(await page.locator("#email").inputValue(), sentTo);
    assert.deepEqual(unexpected(faults), []);
    await page.close();
  });
}

test("a visitor who takes back the only choice and the consent is tracked without a name", async () => {
  const { page, faults } = await open("/calculator?lang=en");
  const saveBox = page.getByRole("checkbox", { name: asked.en.save, exact: true });
  const answered = (given) =>
    page.waitForRequest((request) => {
      const sent = request.url().endsWith("/api/quote/track") && request.postDataJSON();
      return sent && sent.consents?.[0].given === given && !!sent.formData?.email === given;
    });
  const agreed = answered(true);
  await page.locator("[value=blog]").check();
  await page.locator("#email").fill("taken-back@example.com");
  await saveBox.check();
  await agreed;

  const withdrawn = answered(false);
  await page.locator("[value=blog]").uncheck();
  await saveBox.uncheck();
  assert.deepEqual((await withdrawn).postDataJSON().selections.features, []);
  assert.deepEqual(unexpected(faults), []);
  await page.close();
});

test("a site without consent texts or a policy asks for nothing, and an invalid consent text stops no lead", async (t) => {
  const other = await startService();
  t.after(() => other.stop());
  const documents = JSON.parse(await readFile(join(other.folder, "content.json"), "utf8"));
  documents.find(({ _id }) => _id === "siteSettings").privacyUrl = "javascript:alert(1)";
  const content = documents.filter(({ _type }) => _type !== "consentText");
  const wordings = [
    { purpose: "Not a slug", text: "Yes" },
    { purpose: "long", text: "a".repeat(1001) },
    { purpose: "empty", text: " " },
    ...["a", "b", "c", "d"].map((purpose) => ({ purpose, text: `Wording ${purpose}` })),
  ].map((wording, i) => ({ _id: `consent-${i}`, _type: "consentText", ...wording }));

  for (const [consents, count] of [[[], 0], [wordings, 3]]) {
    await other.publish([...content, ...consents]);
    const page = await browser.context.newPage();
    await page.goto(`${other.base}/calculator?lang=en`);
    await page.locator("[value=landing-page]").check();
    assert.equal(await page.locator(".consent").count(), count);
    assert.equal(await page.getByRole("link", { name: "Privacy policy" }).count(), 0);
    for (const [name, value] of Object.entries({ firstName: "Ana", lastName: "Pop", email: `none-${count}@example.com` })) {
      await page.locator(`#${name}`).fill(value);
    }
    await page.locator("form button").click();
    await page.locator(".accepted").waitFor();
    await page.close();
  }
});

test("the calculator works on a site that does not serve consent texts", async (t) => {
  const other = await startService({ CONTENT_TYPES: "heroSection,quoteOption" });
  t.after(() => other.stop());
  const page = await browser.context.newPage();
  await page.goto(`${other.base}/calculator?lang=en`);
  await page.getByRole("link", { name: "Privacy policy" }).waitFor();
  assert.equal(await page.locator(".consent").count(), 0);
  await page.close();
});

test("on a phone the bar with the range covers no field of the form", async () => {
  const other = await openBrowser({ viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
  try {
    const { page } = await open("/calculator?lang=en", other.context);
    await page.getByRole("radio", { name: /^Online shop/ }).check();
    for (const field of await page.locator(".contact input:not([name=website])").all()) {
      await field.scrollIntoViewIfNeeded();
      await field.focus();
      const covered = await field.evaluate((e) => {
        const [a, b] = [e, e.getRootNode().querySelector(".bar")].map((part) => part.getBoundingClientRect());
        return a.top < b.bottom && b.top < a.bottom;
      });
      assert.ok(!covered, await field.getAttribute("name"));
    }
    await picture(page, "calculator-phone-contact");
  } finally {
    await other.close();
  }
});

test("a failed estimate keeps the last range with a note, until the next one succeeds", async () => {
  for (const [locale, failed] of Object.entries({
    en: "The price can't be updated right now",
    es: "Ahora no se puede actualizar el precio",
    ro: "Prețul nu poate fi actualizat acum",
  })) {
    const { page } = await open(`/calculator?lang=${locale}`);
    const range = page.locator("output.range");
    const choose = (slug) => page.locator(`[value=${slug}]`).check();
    await choose("landing-page");
    await range.getByText("1").waitFor();
    const before = await range.innerText();

    await page.route("**/api/quote/estimate", (route) => route.abort());
    await choose("blog");
    await page.getByRole("status").getByText(failed).waitFor();
    assert.equal(await range.innerText(), before);
    assert.ok((await picture(page, `calculator-${locale}-stale`)).colors > 100);

    await page.unrouteAll();
    await choose("seo");
    await page.getByRole("status").getByText(failed).waitFor({ state: "detached" });
    assert.notEqual(await range.innerText(), before);
    await page.close();
  }
});

test("only choices without a price are to be confirmed", async (t) => {
  const other = await startService();
  t.after(() => other.stop());
  const documents = JSON.parse(await readFile(join(other.folder, "content.json"), "utf8"));
  delete documents.find(({ slug }) => slug?.current === "blog").price;
  await other.publish(documents);

  for (const [locale, open] of Object.entries({ en: "to be confirmed", es: "por confirmar", ro: "de confirmat" })) {
    const page = await browser.context.newPage();
    await page.goto(`${other.base}/calculator?lang=${locale}`);
    await page.locator("[value=landing-page]").check();
    await page.locator("aside li").first().waitFor();
    assert.equal(await page.locator("aside").getByText(open).count(), 0);
    await page.locator("[value=blog]").check();
    await page.locator("aside li").getByText(open, { exact: true }).waitFor();
    await page.close();
  }
});

test("without JavaScript a note in each language and the number to call appear", async () => {
  const other = await openBrowser({ javaScriptEnabled: false });
  try {
    const { page } = await open("/calculator", other.context);
    assert.match(await page.locator("noscript").textContent(), /\+44 20 7946 0321/);
  } finally {
    await other.close();
  }
});

for (const [name, options] of Object.entries({
  phone: { viewport: { width: 320, height: 740 }, hasTouch: true, isMobile: true, locale: "ro" },
  dark: { colorScheme: "dark", locale: "es" },
})) {
  test(`the page fits the screen and is drawn: ${name}`, async () => {
    const other = await openBrowser(options);
    try {
      for (const path of ["/calculator", "/"]) {
        const { page, faults } = await open(path, other.context);
        await page.getByRole("heading", { level: 1 }).waitFor();
        if (path === "/calculator") {
          await page.locator("[value=ecommerce]").check();
          for (const feature of await page.locator("[type=checkbox][name=feature]").all()) await feature.check();
          await page.locator("output:not(.empty)").waitFor();
        }
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than the screen`);
        assert.ok((await picture(page, `${path.slice(1) || "front"}-${name}`)).colors > 100);
        assert.deepEqual(unexpected(faults), []);
      }
    } finally {
      await other.close();
    }
  });
}

test("a quantity is typed as the language writes it, priced beside it, and kept", async () => {
  const { page } = await open("/calculator?lang=es");
  await page.getByRole("radio", { name: /^Sitio web corporativo/ }).check();
  await page.getByRole("checkbox", { name: /^Redacción/ }).check();
  const number = page.getByRole("spinbutton", { name: "Redacción de textos: palabras" });
  const beside = page.locator(".quantity .amount");
  assert.equal(await number.inputValue(), "500"); // the editors' suggestion
  await beside.getByText("92,50").waitFor();

  for (const [typed, shown] of [["1.200", "152 €"], ["1200,00", "152 €"], ["110", "por confirmar"], ["0.500", "por confirmar"], ["mil", "por confirmar"]]) {
    await number.fill(typed);
    await beside.getByText(shown).waitFor();
    assert.equal(await number.getAttribute("aria-invalid"), shown === "152 €" ? null : "true");
  }
  await number.fill("600");
  await number.press("ArrowUp");
  assert.equal(await number.inputValue(), "650");
  await page.getByText("Redacción de textos · 650 palabras × 0,085").waitFor();
  await page.reload();
  assert.equal(await number.inputValue(), "650");
  await page.close();
});

test("the front page links to every page and shows the development tokens", async () => {
  const { page, faults } = await open("/");
  await page.getByText(tokens.cache).waitFor();
  const paths = await page.getByRole("navigation").getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.ok(paths.length >= 5, paths.join());
  for (const path of paths) {
    const { hostname, pathname } = new URL(path, service.base);
    if (hostname === new URL(service.base).hostname) assert.equal((await fetch(service.base + pathname)).status, 200, path);
  }
  await page.goto(`${service.base}/graphql`);
  assert.equal(new URL(page.url()).pathname, "/playground");
  assert.deepEqual(unexpected(faults), []);
  await page.close();
});

test("the API reference is small, loads nothing from other origins, and calls a guarded route", async () => {
  const context = (await openBrowser({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }));
  try {
    const { page, faults } = await watchedPage(context.context, service.base);
    const network = await context.context.newCDPSession(page);
    await network.send("Network.enable");
    let sent = 0;
    network.on("Network.loadingFinished", ({ encodedDataLength }) => (sent += encodedDataLength));
    // A phone on fast 3G: 1.6 Mbit/s and 150 ms.
    await network.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 150,
      downloadThroughput: 200_000,
      uploadThroughput: 90_000,
    });

    await page.goto(`${service.base}/docs`);
    await page.getByRole("heading", { name: "Submit a quote request" }).waitFor();
    assert.ok(sent < 150_000, `${sent} bytes were sent`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it is wider than the screen");

    const kinds = await page.locator("td > small").allTextContents();
    assert.ok(kinds.length > 50);
    assert.deepEqual(kinds.filter((kind) => /\bany\b/.test(kind)), []);
    const track = page.getByRole("region", { name: "Track a visitor's choices" });
    await track.getByRole("row", { name: /^estimate\.min optional/ }).getByText("number or null").waitFor();
    await track.getByRole("row", { name: /^locale optional/ }).getByText("string or null, one of en, es, ro").waitFor();

    const route = page.getByRole("region", { name: "Invalidate cached content" });
    await route.getByText("Try it").click();
    await route.getByRole("button", { name: "Send" }).click();
    await route.getByRole("status").getByText('"content:locale:en"').waitFor();
    assert.ok((await picture(page, "reference")).colors > 100);
    assert.deepEqual(unexpected(faults), []);
  } finally {
    await context.close();
  }
});

test("the API reference has the chapters that a client needs", async () => {
  const { page, faults } = await open("/docs#errors");
  for (const [chapter, expected] of Object.entries({
    GraphQL: "application/graphql-response+json",
    Caching: "Cache-Control: public",
    Limits: "cost of an operation",
    "Errors, codes and rate limits": "IDEMPOTENCY_KEY_REUSED",
  })) {
    await page.getByRole("region", { name: chapter, exact: true }).getByText(expected).first().waitFor();
  }
  await page.getByRole("link", { name: "Playground", exact: true }).click();
  await page.waitForURL("**/playground");
  assert.deepEqual(unexpected(faults), []);
  await page.close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds no violations on the pages: ${colorScheme}`, async () => {
    const other = await openBrowser({ colorScheme });
    try {
      for (const path of ["/docs", "/", "/calculator?lang=es"]) {
        const { page } = await open(path, other.context);
        await page.getByRole("heading", { level: 1 }).waitFor();
        if (path === "/docs") await page.evaluate(() => document.querySelectorAll("details").forEach((e) => (e.open = true)));
        assert.deepEqual(await violations(page), [], path);
      }
    } finally {
      await other.close();
    }
  });
}

test("a preview shows edits within a second, and sends nothing", async () => {
  const file = join(service.folder, "content.json");
  const content = JSON.parse(await readFile(file, "utf8"));
  const blog = content.find(({ slug }) => slug?.current === "blog");
  const edit = (en) => writeFile(file, JSON.stringify([...content, { ...blog, _id: `drafts.${blog._id}`, label: { ...blog.label, en } }]));
  const named = ({ page }, name) => page.getByRole("checkbox", { name }).waitFor();
  try {
    await edit("The first draft");
    const [preview, visitor] = await Promise.all([open("/calculator?preview&lang=en"), open("/calculator?lang=en")]);
    await named(preview, "The first draft");
    await edit("The second draft");
    await named(preview, "The second draft");
    assert.equal(await preview.page.getByRole("button", { name: "Request a quote" }).isDisabled(), true);
    await named(visitor, blog.label.en);
    await Promise.all([preview.page.close(), visitor.page.close()]);
  } finally {
    await writeFile(file, JSON.stringify(content));
  }
});
