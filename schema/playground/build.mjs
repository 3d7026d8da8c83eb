// Builds the GraphiQL page into web/dist, which the Go package embeds where it is there.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { options, pack } from "../page/pack.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));

// The editors' workers come first: the page has to know their hashed names.
const workers = await esbuild.build({
  ...options,
  absWorkingDir: folder,
  format: "iife",
  splitting: false,
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
  ...options,
  absWorkingDir: folder,
  entryPoints: { playground: "src/main.tsx" },
  define: { ...options.define, WORKERS: JSON.stringify(workerNames) },
});

await pack({
  folder,
  html: await readFile(`${folder}web/graphiql.html`, "utf8"),
  entry: "playground",
  dist: `${folder}web/dist`,
  results: [workers, page],
});
