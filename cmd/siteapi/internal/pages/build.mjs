// Builds every page, a folder with an index.html, into dist/<page>, which the binary embeds: gzipped files named by
// their contents (the calculator's element with brotli, too), the licenses of the bundled packages, and index.html, which loads them. The same sources and lock file
// yield the same bytes on every machine, so the result is committed.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { gzipSync } from "fflate";
import { marked } from "marked";

const brotli = createRequire(import.meta.url)("brotli-wasm"); // its module for imports is one for browsers
const folder = fileURLToPath(new URL(".", import.meta.url));

/**
 * Loads a page of the manual as a module: the HTML below each of its headings. Links to files of the repository become
 * plain text, because the page cannot open them. Tables and code can be scrolled with the keyboard.
 */
const manual = {
  name: "manual",
  setup(build) {
    build.onLoad({ filter: /\.md$/ }, async ({ path }) => {
      const chapters = {};
      for (const part of (await readFile(path, "utf8")).split(/^#{1,2} /m).slice(1)) {
        const end = part.indexOf("\n");
        const html = await marked.parse(part.slice(end).replace(/\[([^\]]+)\]\((?!https?:)[^)]*\)/g, "$1"));
        chapters[part.slice(0, end)] = html
          .replaceAll("<table>", '<div class="table" tabindex="0" role="group" aria-label="Table"><table>')
          .replaceAll("</table>", "</table></div>")
          .replaceAll(/<th><\/th>/g, "<td></td>")
          .replaceAll("<pre>", '<pre tabindex="0" role="group" aria-label="Example">');
      }
      return { contents: JSON.stringify(chapters), loader: "json" };
    });
  },
};

const options = {
  absWorkingDir: folder,
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
  jsxImportSource: "preact",
  legalComments: "none", // the licenses are collected in one file instead
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".ttf": "file", ".svg": "file" },
  logLevel: "warning",
  plugins: [manual],
};

/** Bundles the playground with React. The editors' workers come first, because the page contains their hashed names. */
async function playground() {
  const workers = await esbuild.build({
    ...options,
    format: "iife",
    splitting: false,
    entryPoints: {
      "editor.worker": "monaco-editor/esm/vs/editor/editor.worker.js",
      "json.worker": "monaco-editor/esm/vs/language/json/json.worker.js",
      "graphql.worker": "monaco-graphql/esm/graphql.worker.js",
    },
  });
  const names = {};
  for (const file of workers.outputFiles) {
    const name = basename(file.path);
    names[name.slice(0, name.indexOf("."))] = name;
  }

  const page = await esbuild.build({
    ...options,
    jsxImportSource: "react",
    entryPoints: { playground: "playground/main.tsx" },
    define: { ...options.define, WORKERS: JSON.stringify(names) },
  });
  return [workers, page];
}

/** Bundles a page whose entry point is main.tsx or main.ts, or main.css if it runs no script. */
async function bundle(name) {
  const files = await readdir(join(folder, name));
  const entry = ["main.tsx", "main.ts", "main.css"].find((file) => files.includes(file));
  const page = await esbuild.build({ ...options, entryPoints: { [name]: `${name}/${entry}` } });
  return files.includes("element.tsx") ? [page, await element(name)] : [page];
}

/** Bundles a custom element for pages of other sites: one script, which contains its style sheet as a string. */
const element = (name) =>
  esbuild.build({
    ...options,
    splitting: false,
    entryPoints: { element: `${name}/element.tsx` },
    plugins: [{
      name: "style sheet as a string",
      setup(build) {
        build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
          const css = await esbuild.transform(await readFile(path, "utf8"), { loader: "css", minify: true });
          return { contents: css.code, loader: "text" };
        });
      },
    }],
  });

/** Writes a page to dist, and replaces SCRIPT, STYLE, ICON and LICENSES in its HTML by the names of the files. */
async function write(name, html, results) {
  const dist = join(folder, "dist", name);
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });

  const names = { SCRIPT: "", STYLE: "", ICON: "", LICENSES: "" };
  let plain = 0;
  let packed = 0;
  async function keep(file, contents) {
    // zlib's output differs between versions of Node.js; the output of a package in the lock file does not.
    const gz = gzipSync(contents, { level: 9, mtime: 0 });
    plain += contents.length;
    packed += gz.length;
    await writeFile(join(dist, `${file}.gz`), gz);
    if (file.startsWith("element-")) await writeFile(join(dist, `${file}.br`), brotli.compress(contents, { quality: 11 }));
  }

  for (const file of results.flatMap((result) => result.outputFiles)) {
    const output = basename(file.path);
    if (output.startsWith(`${name}-`)) names[extname(output) === ".css" ? "STYLE" : "SCRIPT"] = output;
    // The page's style sheet already contains those of chunks that are loaded later.
    if (output.startsWith("chunk-") && output.endsWith(".css")) continue;
    await keep(output, file.contents);
  }

  const collect = async (placeholder, stem, extension, contents) => {
    if (!html.includes(placeholder)) return;
    const hash = createHash("sha256").update(contents).digest("hex").slice(0, 8).toUpperCase();
    names[placeholder] = `${stem}-${hash}${extension}`;
    await keep(names[placeholder], contents);
  };
  await collect("ICON", "icon", ".svg", await readFile(join(folder, "icon.svg")));
  await collect("LICENSES", "licenses", ".txt", Buffer.from(await licenses(results)));

  await writeFile(join(dist, "index.html"), html.replace(/SCRIPT|STYLE|ICON|LICENSES/g, (word) => names[word]));
  console.log(`${name}: ${(plain / 1e6).toFixed(2)} MB, ${(packed / 1e6).toFixed(2)} MB gzipped`);
}

/** Returns the license of every bundled package. */
async function licenses(results) {
  const packages = new Set();
  for (const input of results.flatMap((result) => Object.keys(result.metafile.inputs))) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  const texts = [];
  for (const path of [...packages].sort()) {
    const { name, version, license } = JSON.parse(await readFile(join(folder, path, "package.json"), "utf8"));
    const file = (await readdir(join(folder, path))).sort().find((f) => /^licen[cs]e/i.test(f));
    const text = file ? await readFile(join(folder, path, file), "utf8") : "";
    texts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(72)}\n\n`);
}

for (const name of await readdir(folder)) {
  const html = await readFile(join(folder, name, "index.html"), "utf8").catch(() => "");
  if (html) await write(name, html, name === "playground" ? await playground() : await bundle(name));
}
