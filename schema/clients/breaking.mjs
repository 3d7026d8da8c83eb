// Lists the changes of the schema since the last release that break a client, and fails if there are some but the
// changelog has no new line that begins with **Breaking**. Before the first release it compares with origin/main, for those
// who run that. The first argument is the repository; default: this one.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildASTSchema, findBreakingChanges, GraphQLSchema, parse } from "graphql";

const root = process.argv[2] ?? fileURLToPath(new URL("../../", import.meta.url));
const changelog = "cmd/siteapi/CHANGELOG.md";
const git = (...args) => execFileSync("git", ["-C", root, ...args], { encoding: "utf8", maxBuffer: 16 << 20 });

/** Builds the schema from the SDL files, without directives and the types that only they use: clients don't see them. */
function schema(texts) {
  const full = buildASTSchema(parse(texts.join("\n")), { assumeValidSDL: true });
  return new GraphQLSchema({
    query: full.getQueryType(),
    mutation: full.getMutationType(),
    subscription: full.getSubscriptionType(),
  });
}

/** Returns the lines of a changelog that begin with **Breaking**, as items of a list or not. */
const breakingLines = (text) => text.split("\n").filter((line) => /^[*-]? *\*\*Breaking\*\*/.test(line));

// If this commit itself is tagged as a release, it is compared with the previous release.
const tags = git("tag", "--list", "v*", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-version:refname");
const main = "refs/remotes/origin/main";
const [release] = (tags || git("for-each-ref", "--format=%(refname)", main)).split("\n");
if (!release) {
  console.log("There is no release yet, and no origin/main, so there is nothing to compare the schema with.");
  process.exit();
}

const sdl = (name) => name.endsWith(".graphqls");
const released = git("ls-tree", "--name-only", release, "schema/").split("\n").filter(sdl);
const current = readdirSync(join(root, "schema")).filter(sdl);

const changes = findBreakingChanges(
  schema(released.map((path) => git("show", `${release}:${path}`))),
  schema(current.map((name) => readFileSync(join(root, "schema", name), "utf8"))),
);
for (const { description } of changes) {
  console.log(`breaks clients of ${release}: ${description}`);
}

const hadOne = git("ls-tree", "--name-only", release, changelog) !== "";
const before = hadOne ? breakingLines(git("show", `${release}:${changelog}`)) : [];
const announced = breakingLines(readFileSync(join(root, changelog), "utf8")).filter((line) => !before.includes(line));
if (changes.length === 0) {
  console.log(`No change of the schema since ${release} breaks a client.`);
} else if (announced.length === 0) {
  console.error(`Undo them, or describe what clients must change in a line of ${changelog} that begins with **Breaking**.`);
  process.exitCode = 1;
}
