// Tests every rule on which clients rely, with every library, against the real service.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { startService, tokens } from "#service";
import type { Service } from "#service";
import type { SubmitQuoteInput } from "../generated/operations.js";
import { apolloSite } from "../src/apollo.js";
import { graphqlRequestSite } from "../src/graphql-request.js";
import { phonesAt, SiteError } from "../src/site.js";
import { urqlSite } from "../src/urql.js";
import { contents, phones } from "./content.js";
import { recordingFetch } from "./transcript.js";

const libraries = { "Apollo Client": apolloSite, urql: urqlSite, "graphql-request": graphqlRequestSite };

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

const url = () => `${service.base}/graphql`;

/** Apollo adds __typename to each selection; the other clients do not. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value, (key, v) => (key === "__typename" ? undefined : v))) as T;

const fails = (code: string, more: (error: SiteError) => void = () => {}) => (error: unknown) => {
  assert.ok(error instanceof SiteError, String(error));
  assert.equal(error.code, code, error.message);
  more(error);
  return true;
};

const quote = (sessionId: string): SubmitQuoteInput => ({
  sessionId,
  contact: { firstName: "Ana", lastName: "Ionescu", email: "ana@example.com" },
  selections: { projectType: "web-app", features: ["auth"] },
  estimate: { min: 13500, max: 18200, currency: "EUR" },
  locale: "ro",
});

for (const [name, newSite] of Object.entries(libraries)) {
  for (const get of [false, true]) {
    describe(`${name}, queries by ${get ? "GET" : "POST"}`, () => {
      const site = () => newSite({ url: url(), get });

      test("many phones: the array and the legacy number", async () => {
        await service.publish(contents.manyPhones);
        const settings = plain(await site().settings());
        assert.deepEqual(settings, { contactPhones: phones, contactPhone: "+44 20 7946 0018" });
        assert.deepEqual(phonesAt(settings, "footer").map((phone) => phone.number), ["+44 20 7946 0018"]);
        assert.equal(phonesAt(settings, "contact").length, 2);
      });

      test("only the legacy phone: null, and the number is shown everywhere", async () => {
        await service.publish(contents.legacyPhone);
        const settings = plain(await site().settings());
        assert.deepEqual(settings, { contactPhones: null, contactPhone: "+44 20 7946 0018" });
        assert.deepEqual(phonesAt(settings, "footer"), phonesAt(settings, "contact"));
        assert.equal(phonesAt(settings, "footer")[0]?.number, "+44 20 7946 0018");
      });

      test("no phones: an empty array", async () => {
        await service.publish(contents.noPhones);
        const settings = plain(await site().settings());
        assert.deepEqual(settings, { contactPhones: [], contactPhone: null });
        assert.deepEqual(phonesAt(settings, "contact"), []);
      });

      test("no document: null, and nothing is thrown", async () => {
        await service.publish(contents.noSettings);
        const { fetch, transcript } = recordingFetch();
        assert.equal(await newSite({ url: url(), get, fetch }).settings(), null);
        const [exchange] = transcript;
        assert.equal(exchange?.method, get ? "GET" : "POST");
        // All three ask for the newer media type first, which forbids an empty list of errors.
        assert.match(exchange?.requestHeaders.get("accept") ?? "", /^application\/graphql-response\+json/);
        assert.match(exchange?.contentType ?? "", /^application\/graphql-response\+json/);
        assert.equal(exchange?.body, '{"data":{"SiteSettings":null}}');
      });

      test("another id: null", async () => {
        await service.publish(contents.manyPhones);
        assert.equal(await site().settings("somethingElse"), null);
      });

      test("an unknown field: an error that names it", async () => {
        await assert.rejects(
          site().ask('{ SiteSettings(id: "siteSettings") { phoneNumbers } }'),
          fails("BAD_USER_INPUT", (error) => assert.equal(error.message, 'Cannot query field "phoneNumbers" on type "SiteSettings".')),
        );
      });
    });
  }

  describe(`${name}, mutations`, () => {
    const site = (token?: string) => newSite({ url: url(), ...(token && { token }) });

    test("a visitor's choices are tracked, however incomplete", async () => {
      const sessionId = randomUUID();
      const response = await site().track({ sessionId, selections: { projectType: "web-app" }, formData: { email: "ana@" } });
      assert.deepEqual(plain(response), { success: true, sessionId });
    });

    test("a session without an identifier is rejected", async () => {
      await assert.rejects(
        site().track({ sessionId: "" }),
        fails("BAD_USER_INPUT", (error) => assert.deepEqual(error.fields.map((f) => f.field), ["sessionId"])),
      );
    });

    test("a quote is submitted once, however often it is sent, and its PDF is there", async () => {
      const sessionId = randomUUID();
      const first = await site().submit(quote(sessionId));
      assert.equal(first.success, true);
      assert.equal(first.pdfUrl, `/api/quote/pdf?id=${first.submissionId}`);
      assert.equal((await site().submit(quote(sessionId))).submissionId, first.submissionId);
      const pdf = await fetch(service.base + first.pdfUrl);
      assert.equal(pdf.status, 200);
      assert.equal(pdf.headers.get("content-type"), "application/pdf");
      assert.equal(Buffer.from(await pdf.arrayBuffer()).subarray(0, 5).toString(), "%PDF-");
    });

    test("a quote with invalid fields is rejected, and every field is reported", async () => {
      const good = quote(randomUUID());
      const bad: SubmitQuoteInput = {
        ...good,
        contact: { ...good.contact, firstName: "", lastName: "x".repeat(101), email: "ana@" },
        estimate: { min: 2, max: 1, currency: "euro" },
      };
      await assert.rejects(
        site().submit(bad),
        fails("BAD_USER_INPUT", (error) => {
          assert.deepEqual(error.fields.map(({ field, code, params }) => [field, code, params]).sort(), [
            ["contact.email", "invalid_email", undefined],
            ["contact.firstName", "required", undefined],
            ["contact.lastName", "too_long", { max: 100 }],
            ["estimate.currency", "invalid_currency", undefined],
            ["estimate.min", "above_field", { field: "max" }],
          ]);
          assert.ok(error.fields.every((f) => f.message.length > 0));
        }),
      );
    });

    test("a guarded operation needs its token", async () => {
      await assert.rejects(site().clearCache("content:*"), fails("UNAUTHENTICATED"));
      await assert.rejects(site(tokens.webhook).clearCache("content:*"), fails("UNAUTHENTICATED"));
      assert.ok((await site(tokens.cache).clearCache("content:*")) >= 0);
    });

    test("an unreachable service is a distinct error", async () => {
      await assert.rejects(newSite({ url: "http://127.0.0.1:1/graphql" }).settings(), fails("UNREACHABLE"));
    });
  });
}

// urql is not included, because it treats an empty list of errors as an error.
for (const [name, newSite] of Object.entries({ "Apollo Client": apolloSite, "graphql-request": graphqlRequestSite })) {
  test(`${name}, asking for application/json: an empty list of errors, and nothing is thrown`, async () => {
    await service.publish(contents.noSettings);
    const { fetch, transcript } = recordingFetch();
    const older: typeof fetch = (input, init) => {
      const request = new Request(input, init);
      request.headers.set("Accept", "application/json");
      return fetch(request);
    };
    assert.equal(await newSite({ url: url(), fetch: older }).settings(), null);
    assert.match(transcript[0]?.contentType ?? "", /^application\/json/);
    assert.equal(transcript[0]?.body, '{"data":{"SiteSettings":null},"errors":[]}');
  });
}

for (const [name, newSite] of Object.entries({ "Apollo Client": apolloSite, urql: urqlSite })) {
  describe(`${name}, persisted queries`, () => {
    test("first the hash, then once the text, then only the hash", async () => {
      // In a new service the query is not registered yet.
      const fresh = await startService();
      try {
        await fresh.publish(contents.manyPhones);
        const { fetch, transcript } = recordingFetch();
        const settings = async () => plain(await newSite({ url: `${fresh.base}/graphql`, persisted: true, fetch }).settings());
        assert.equal((await settings())?.contactPhones?.length, 2);
        assert.equal(transcript.length, 2);
        const [miss, registered] = transcript;
        assert.equal(miss?.method, "GET");
        assert.equal(miss?.url.searchParams.get("query"), null);
        assert.match(miss?.url.searchParams.get("extensions") ?? "", /"sha256Hash":"[0-9a-f]{64}"/);
        assert.match(miss?.body ?? "", /"PERSISTED_QUERY_NOT_FOUND"/);
        assert.equal(miss?.headers.get("cache-control"), "no-store");
        assert.match(registered?.requestBody || registered?.url.search || "", /SiteSettings/);

        // The next visitor's client needs only the hash.
        transcript.length = 0;
        assert.equal((await settings())?.contactPhones?.length, 2);
        assert.equal(transcript.length, 1);
        assert.equal(transcript[0]?.method, "GET");
        assert.equal(transcript[0]?.url.searchParams.get("query"), null);
        assert.ok(transcript[0]?.headers.get("etag"));

        // The URL alone is enough to revalidate a cached response.
        const again = await globalThis.fetch(transcript[0]!.url, {
          headers: { Accept: transcript[0]!.requestHeaders.get("accept")!, "If-None-Match": transcript[0]!.headers.get("etag")! },
        });
        assert.equal(again.status, 304);
      } finally {
        await fresh.stop();
      }
    });
  });
}
