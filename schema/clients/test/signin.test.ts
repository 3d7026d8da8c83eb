// Operators sign their assistants in with their account, through the assistants' own clients and a real provider.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { startService } from "#service";
import type { Service } from "#service";

const folder = mkdtempSync(join(tmpdir(), "siteapi-assistant-"));
const redirect = "http://localhost/callback";
const remoteRedirect = "http://localhost/oauth/callback";
let documents: ReturnType<typeof createServer>;
let provider: { settings: (base: string) => Record<string, string>; stop: () => void };
let service: Service;
let clientId: string;

/** Serves the metadata document of the assistants at an https address of this machine. */
async function publish() {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key, "-out", cert, ...subject], {
    stdio: "ignore",
  });
  documents = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ client_id: clientId, client_name: "Test", redirect_uris: [redirect, remoteRedirect] }));
  }).listen(0, "127.0.0.1");
  await once(documents, "listening");
  const host = `127.0.0.1:${(documents.address() as AddressInfo).port}`;
  clientId = `https://${host}/client.json`;
  return { MCP_CLIENTS: host, SSL_CERT_FILE: cert };
}

before(async () => {
  const path = "../../../../cmd/siteapi/internal/pages/test/provider.mjs";
  const { startProvider } = await import(new URL(path, import.meta.url).href);
  provider = await startProvider();
  const settings = await publish();
  service = await startService((base) => ({ ...provider.settings(base), ...settings, SITE_URL: base, MCP_SIGN_IN: "on" }));
});
after(async () => {
  await service?.stop();
  provider?.stop();
  documents?.close();
  rmSync(folder, { recursive: true });
});

/** Signs the operator in as a browser does, allows the access, and returns the address that the assistant gets. */
async function approve(at: URL | string) {
  const cookies = new Map<string, string>();
  const open = async (address: URL | string, init: RequestInit = {}) => {
    const Cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(address, { ...init, redirect: "manual", headers: { Cookie } });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(";")[0]!.split("=");
      cookies.set(name!, value!);
    }
    return response;
  };

  let response = await open(at);
  while (response.status !== 200) {
    const next = response.headers.get("Location");
    assert.ok(next, `${response.status} ${await response.text()}`);
    response = await open(new URL(next, at));
  }
  const request = /name="request" value="(\w+)"/.exec(await response.text())?.[1];
  const body = new URLSearchParams({ request: request!, answer: "allow" });
  response = await open(new URL("/admin/assistant", service.base), { method: "POST", body });
  assert.equal(response.status, 303);
  return new URL(response.headers.get("Location")!);
}

/** Calls a tool of operators. The client checks the result against the tool's output schema. */
async function work(client: Client) {
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === "set_lead_owner"));
  const result = await client.callTool({ name: "leads", arguments: {} });
  assert.deepEqual((result.structuredContent as { edges: unknown[] }).edges, []);
  await client.close();
}

test("the client of the TypeScript SDK signs in", async () => {
  let information: OAuthClientInformationMixed | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = "";
  let authorization: URL | undefined;
  const authProvider = {
    redirectUrl: redirect,
    clientMetadataUrl: clientId,
    clientMetadata: { client_name: "Test", redirect_uris: [redirect], token_endpoint_auth_method: "none" },
    clientInformation: () => information as never,
    saveClientInformation: (next: OAuthClientInformationMixed) => void (information = next),
    tokens: () => tokens as never,
    saveTokens: (next: OAuthTokens) => void (tokens = next),
    redirectToAuthorization: (url: URL) => void (authorization = url),
    saveCodeVerifier: (next: string) => void (verifier = next),
    codeVerifier: () => verifier,
  };
  const connect = () => new StreamableHTTPClientTransport(new URL("/mcp/operators", service.base), { authProvider });

  const first = connect();
  await assert.rejects(new Client({ name: "test", version: "1" }).connect(first), UnauthorizedError);
  const back = await approve(authorization!);
  await first.finishAuth(back.searchParams);

  const client = new Client({ name: "test", version: "1" });
  await client.connect(connect());
  assert.ok(tokens?.refresh_token);
  await work(client);
});

test("mcp-remote signs in", async () => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      fileURLToPath(new URL("../../node_modules/mcp-remote/dist/proxy.js", import.meta.url)),
      `${service.base}/mcp/operators`,
      "--transport",
      "http-only",
      "--static-oauth-client-info",
      JSON.stringify({ client_id: clientId }),
    ],
    env: { PATH: "", HOME: folder, MCP_REMOTE_CONFIG_DIR: folder }, // without a program that opens a browser
    stderr: "pipe",
  });

  let log = "";
  let approved: Promise<unknown> | undefined;
  transport.stderr!.on("data", (text) => {
    log += text;
    const address = /visiting:\s+(http\S+)\s/.exec(log)?.[1];
    if (address) approved ??= approve(address).then((back) => fetch(back));
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport).catch((error) => assert.fail(`${error}\n${log}`));
  await approved;
  await work(client);
});
