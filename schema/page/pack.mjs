// Writes a page that esbuild bundled to the folder that the binary embeds: hashed files, each gzipped once here, the
// licences of the bundled packages, and index.html, which loads them.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { gzipSync } from "node:zlib";

/** How esbuild builds every page. */
export const options = {
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  outdir: "dist",
  entryNames: "[name]-[hash]",
  chunkNames: "chunk-[hash]",
  assetNames: "[name]-[hash]",
  target: ["es2022"],
  format: "esm",
  splitting: true,
  jsx: "automatic",
  legalComments: "none", // the licences are collected in one file instead
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".ttf": "file" },
  logLevel: "warning",
};

/**
 * Writes a page to dist.
 *
 * @param {object} page
 * @param {string} page.folder - what esbuild worked in
 * @param {string} page.html - the page, in which SCRIPT, STYLE and LICENCES stand for the names of files
 * @param {string} page.entry - the name of its entry point
 * @param {string} page.dist
 * @param {import("esbuild").BuildResult[]} page.results
 */
export async function pack({ folder, html, entry, dist, results }) {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  const names = { SCRIPT: "", STYLE: "", LICENCES: "" };
  let plain = 0;
  let packed = 0;
  async function keep(name, contents) {
    const gz = gzipSync(contents, { level: 9 });
    plain += contents.length;
    packed += gz.length;
    await writeFile(join(dist, `${name}.gz`), gz);
  }
  for (const file of results.flatMap((result) => result.outputFiles)) {
    const name = basename(file.path);
    if (name.startsWith(`${entry}-`)) names[extname(name) === ".css" ? "STYLE" : "SCRIPT"] = name;
    // Style sheets of parts that load later are in the page's own already.
    if (name.startsWith("chunk-") && name.endsWith(".css")) continue;
    await keep(name, file.contents);
  }
  const terms = Buffer.from(await licences(folder, results));
  names.LICENCES = `licences-${createHash("sha256").update(terms).digest("hex").slice(0, 8).toUpperCase()}.txt`;
  await keep(names.LICENCES, terms);
  await writeFile(join(dist, "index.html"), html.replace(/SCRIPT|STYLE|LICENCES/g, (name) => names[name]));
  console.log(`${entry}: ${(plain / 1e6).toFixed(2)} MB, ${(packed / 1e6).toFixed(2)} MB gzipped`);
}

/** Returns the licence of every package that something was bundled from. */
async function licences(folder, results) {
  const packages = new Set();
  for (const input of results.flatMap((result) => Object.keys(result.metafile.inputs))) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  const texts = [];
  for (const path of [...packages].sort()) {
    const { name, version, license } = JSON.parse(await readFile(join(folder, path, "package.json"), "utf8"));
    const file = (await readdir(join(folder, path))).find((f) => /^licen[cs]e/i.test(f));
    const text = file ? await readFile(join(folder, path, file), "utf8") : "";
    texts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(72)}\n\n`);
}
