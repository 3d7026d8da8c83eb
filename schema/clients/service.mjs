// Starts and stops the built service for a test, on a free port and with its own data folder.
// The tests of the clients and of the playground use it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Maximum time until the service is ready, in milliseconds. */
const patience = 60_000;

/** Default tokens of the service in development. */
export const tokens = { cache: "dev-cache-token", webhook: "dev-webhook-secret" };

/** The binary to test: SITEAPI_BINARY, or the output of `make build`. */
export const binary = process.env.SITEAPI_BINARY ?? fileURLToPath(new URL("../../bin/siteapi", import.meta.url));

/**
 * Returns a free port below those that systems give to outgoing connections: one of these could take it until the service
 * listens.
 *
 * @returns {Promise<number>}
 */
async function freePort() {
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  const server = createServer().listen(port, "127.0.0.1");
  const free = await once(server, "listening").then(() => true, () => false);
  server.close();
  return free ? port : freePort();
}

/**
 * Starts the service in development with additional settings, which may depend on its address.
 *
 * @param {Record<string, string> | ((base: string) => Record<string, string>)} [settings]
 * @param {string} [program]
 */
export async function startService(settings = {}, program = binary) {
  const folder = await mkdtemp(join(tmpdir(), "siteapi-test-"));
  const base = `http://127.0.0.1:${await freePort()}`;
  const env = {
    ENVIRONMENT: "development",
    LOG_FORMAT: "json",
    RATE_LIMITS: "off",
    ADMIN_ADDR: "off",
    DATA_DIR: folder,
    LISTEN_ADDR: new URL(base).host,
    ...(typeof settings === "function" ? settings(base) : settings),
  };
  let log = "";
  let child = spawn(program, ["serve"], { env });
  let ended = watch();

  /** Collects the log of the process until it ends. */
  function watch() {
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (log += text));
    return new Promise((resolve) => child.once("close", resolve).once("error", (error) => resolve((log += error))));
  }

  /** Ends the process. */
  async function end() {
    child.kill("SIGTERM");
    await ended;
  }

  /** Ends the service and removes its data. */
  async function stop() {
    await end();
    await rm(folder, { recursive: true, force: true });
  }

  /**
   * Replaces the content of the CMS and calls the webhook, as the CMS would.
   *
   * @param {object[]} documents
   */
  async function publish(documents) {
    const file = join(folder, "content.json");
    await writeFile(`${file}.new`, JSON.stringify(documents));
    await rename(`${file}.new`, file);
    const response = await fetch(`${base}/api/webhooks/cms`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${tokens.webhook}` },
      body: JSON.stringify({ _id: "siteSettings", _type: "siteSettings" }),
    });
    if (!response.ok) throw new Error(`the webhook answered ${response.status}: ${await response.text()}`);
  }

  /** Restarts the service after it ended, with the same address and data. */
  async function begin() {
    child = spawn(program, ["serve"], { env });
    ended = watch();
    await ready();
  }

  async function ready() {
    const deadline = Date.now() + patience;
    for (;;) {
      if (await fetch(`${base}/readyz`).then((response) => response.ok, () => false)) return;
      if (child.exitCode !== null || Date.now() > deadline) {
        await stop();
        throw new Error(`${program} did not start:\n${log}`);
      }
      await sleep(50);
    }
  }

  await ready();
  return { base, folder, stop, publish, end, begin };
}
