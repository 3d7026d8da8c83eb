// Writes the TypeScript snippets of the manuals to build, so that the compiler can check them. The first line of a
// snippet names its file.
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const root = new URL("../../../", import.meta.url).pathname;
const build = new URL("build", import.meta.url).pathname;
const manuals = execFileSync("git", ["ls-files", "--", "*.md"], { cwd: root, encoding: "utf8" }).trim().split("\n");

await rm(build, { recursive: true, force: true });
for (const manual of manuals) {
  const text = await readFile(join(root, manual), "utf8");
  for (const [, , code] of text.matchAll(/^( *)```tsx?\n(.*?)^\1```/gms)) {
    const name = /^ *\/\/ (\S+?\.tsx?)\b/.exec(code)?.[1];
    if (!name) throw new Error(`${manual}: the first line of a snippet must name its file`);
    await mkdir(dirname(join(build, name)), { recursive: true });
    await writeFile(join(build, name), code);
  }
}
