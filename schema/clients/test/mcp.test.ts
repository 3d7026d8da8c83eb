// An assistant requests a quote in Spanish, with the official client of the protocol.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { startService } from "#service";
import type { Service } from "#service";

let service: Service;
const client = new Client({ name: "test", version: "1" });
before(async () => {
  service = await startService();
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.base}/mcp`)));
});
after(async () => {
  await client.close();
  await service.stop();
});

test("an assistant prices a project and requests a quote", async () => {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["content", "estimate_quote", "quote_options", "site_settings", "submit_quote"]);

  // The client checks each result against the tool's output schema.
  const call = async (name: string, given: Record<string, unknown>) => {
    const response = await client.callTool({ name, arguments: given });
    assert.ok(!response.isError, JSON.stringify(response.content));
    return response.structuredContent as Record<string, any>;
  };
  const settings = await call("site_settings", {});
  assert.equal(settings.result.contactEmail, "hello@lumen-studio.example");
  const selections = { projectType: "web-app", features: ["blog"] };
  const estimate = await call("estimate_quote", { selections, locale: "es" });
  assert.equal(estimate.lines[0].label, "Aplicación web");

  const lead = {
    sessionId: randomUUID(),
    locale: "es",
    contact: { firstName: "Lucía", lastName: "Pérez", email: "lucia@example.com" },
    selections,
    estimate: { min: estimate.min, max: estimate.max, currency: estimate.currency },
  };
  const first = await call("submit_quote", lead);
  assert.match(first.quoteUrl, /^\/api\/quote\/page\?id=/);
  assert.equal((await call("submit_quote", lead)).submissionId, first.submissionId);
});

test("a rejected call reports the invalid fields", async () => {
  const response = await client.callTool({ name: "submit_quote", arguments: { sessionId: randomUUID(), contact: { email: "x" } } });
  assert.equal(response.isError, true);
  const [content] = response.content as { text: string }[];
  const problem = JSON.parse(content!.text);
  assert.equal(problem.code, "BAD_USER_INPUT");
  assert.ok(problem.errors.some((error: { field: string }) => error.field === "contact.lastName"));
});
