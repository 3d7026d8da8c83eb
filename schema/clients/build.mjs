// Builds the pages that live here, a folder with an index.html each, into schema/page, which embeds them.
// Their entry point is main.tsx.
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { options, pack } from "../page/pack.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const built = fileURLToPath(new URL("../page/web/", import.meta.url));

for (const name of await readdir(folder)) {
  const html = await readFile(`${folder}${name}/index.html`, "utf8").catch(() => "");
  if (!html) continue;
  const page = await esbuild.build({
    ...options,
    absWorkingDir: folder,
    jsxImportSource: "preact",
    entryPoints: { [name]: `${name}/main.tsx` },
  });
  await pack({ folder, html, entry: name, dist: `${built}${name}/dist`, results: [page] });
}
