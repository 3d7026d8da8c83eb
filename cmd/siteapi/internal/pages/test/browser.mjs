// Starts a fresh Chromium that records the faults of its pages.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import axe from "axe-core";
import { chromium } from "playwright-core";

const screenshots = fileURLToPath(new URL("screenshots", import.meta.url));

/** Opens a browser with its own profile. CHROMIUM is the path of a browser other than Debian's. */
export async function openBrowser(options = {}) {
  const profile = await mkdtemp(join(tmpdir(), "siteapi-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: { width: 1360, height: 860 },
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    ...options,
  });
  context.setDefaultTimeout(60_000); // the machine may be busy
  return {
    context,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/**
 * Opens a page that records requests to other origins, failed requests, errors and
 * warnings of the console, exceptions, and violations of the page's policy.
 */
export async function watchedPage(context, base) {
  const page = await context.newPage();
  const faults = [];
  const requests = [];
  const { origin } = new URL(base);
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol === "data:" || url.protocol === "blob:") return;
    requests.push(url.pathname);
    if (url.origin !== origin) faults.push(`request to ${url.origin}`);
  });
  page.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText;
    if (reason === "net::ERR_ABORTED") return; // the page was left or loaded again
    faults.push(`failed: ${request.url()} ${reason}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) faults.push(`status ${response.status()}: ${response.url()}`);
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.stack ?? error}`));
  await page.exposeFunction("siteapiFault", (text) => faults.push(text));
  await page.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (event) =>
      window.siteapiFault(`policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`),
    ),
  );
  return { page, faults, requests };
}

/** Returns axe's violations of WCAG and of good practice, with their elements, once nothing is being loaded: then it is paler. */
export async function violations(page) {
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
  await page.evaluate(axe.source); // like a debugger, which the page's policy does not restrict
  const result = await page.evaluate(() => window.axe.run());
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Takes a screenshot and counts its colors. */
export async function picture(page, name) {
  await mkdir(screenshots, { recursive: true });
  const png = await page.screenshot({ path: join(screenshots, `${name}.png`) });
  return { colors: countColors(png) };
}

/**
 * Counts the different colors of a screenshot, an 8-bit PNG without interlacing.
 * A blank page has one or two; a page with smoothed text has hundreds.
 */
export function countColors(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const bytes = { 2: 3, 6: 4 }[png[25]];
  if (png[24] !== 8 || !bytes || png[28] !== 0) throw new Error("not an 8-bit PNG without interlacing");
  const parts = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const data = inflateSync(Buffer.concat(parts));
  const stride = width * bytes;
  const colors = new Set();
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)];
    const row = data.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1));
    for (let x = 0; x < stride; x++) {
      const left = x < bytes ? 0 : row[x - bytes];
      const corner = x < bytes ? 0 : above[x - bytes];
      row[x] += [0, left, above[x], (left + above[x]) >> 1, paeth(left, above[x], corner)][filter];
    }
    for (let x = 0; x < stride; x += bytes) colors.add((row[x] << 16) | (row[x + 1] << 8) | row[x + 2]);
    above = row;
  }
  return colors.size;
}

// paeth is the Paeth predictor of the PNG format.
function paeth(left, above, corner) {
  const guess = left + above - corner;
  const [a, b, c] = [left, above, corner].map((v) => Math.abs(guess - v));
  return a <= b && a <= c ? left : b <= c ? above : corner;
}
