// Builds the GraphiQL page into web/dist, which the Go package embeds where it is there:
// hashed files, each gzipped once here, and index.html, which loads them.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = join(here, "web", "dist");

const common = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  outdir: dist,
  entryNames: "[name]-[hash]",
  chunkNames: "chunk-[hash]",
  assetNames: "[name]-[hash]",
  target: ["es2022"],
  legalComments: "none", // the licences are collected in one file instead
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".ttf": "file" },
  logLevel: "warning",
};

// The editors' workers come first: the page has to know their hashed names.
const workers = await esbuild.build({
  ...common,
  format: "iife",
  entryPoints: {
    "editor.worker": "monaco-editor/esm/vs/editor/editor.worker.js",
    "json.worker": "monaco-editor/esm/vs/language/json/json.worker.js",
    "graphql.worker": "monaco-graphql/esm/graphql.worker.js",
  },
});
const workerNames = {};
for (const file of workers.outputFiles) {
  const name = basename(file.path);
  workerNames[name.slice(0, name.indexOf("."))] = name;
}

const page = await esbuild.build({
  ...common,
  format: "esm",
  splitting: true,
  jsx: "automatic",
  entryPoints: { playground: "src/main.tsx" },
  define: { ...common.define, WORKERS: JSON.stringify(workerNames) },
});

// licences returns the licence of every package that something was bundled from.
async function licences() {
  const folders = new Set();
  for (const input of [...Object.keys(workers.metafile.inputs), ...Object.keys(page.metafile.inputs)]) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) folders.add(found[1]);
  }
  const texts = [];
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(await readFile(join(here, folder, "package.json"), "utf8"));
    const file = (await readdir(join(here, folder))).find((f) => /^licen[cs]e/i.test(f));
    const text = file ? await readFile(join(here, folder, file), "utf8") : "";
    texts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(72)}\n\n`);
}

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
let plain = 0;
let packed = 0;
async function keep(name, contents) {
  const gz = gzipSync(contents, { level: 9 });
  plain += contents.length;
  packed += gz.length;
  await writeFile(join(dist, `${name}.gz`), gz);
}
const names = { SCRIPT: "", STYLE: "", LICENCES: "" };
for (const file of [...workers.outputFiles, ...page.outputFiles]) {
  const name = relative(dist, file.path);
  if (name.startsWith("playground-")) {
    names[extname(name) === ".css" ? "STYLE" : "SCRIPT"] = name;
  }
  // Style sheets of parts that load later are in the page's own already.
  if (name.startsWith("chunk-") && name.endsWith(".css")) continue;
  await keep(name, file.contents);
}
const terms = Buffer.from(await licences());
names.LICENCES = `licences-${createHash("sha256").update(terms).digest("hex").slice(0, 8).toUpperCase()}.txt`;
await keep(names.LICENCES, terms);
const html = await readFile(join(here, "web", "graphiql.html"), "utf8");
await writeFile(join(dist, "index.html"), html.replace(/SCRIPT|STYLE|LICENCES/g, (name) => names[name]));
console.log(`${(plain / 1e6).toFixed(1)} MB of GraphiQL, ${(packed / 1e6).toFixed(1)} MB gzipped, in web/dist`);
