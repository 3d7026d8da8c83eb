// Tests the check for unannounced breaking changes of the schema, in a separate repository.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const root = mkdtempSync(join(tmpdir(), "breaking-"));
after(() => rmSync(root, { recursive: true }));

const git = (...args: string[]) =>
  execFileSync("git", ["-C", root, "-c", "user.name=test", "-c", "user.email=test@example.com", ...args]);

/** Commits a schema and a changelog, and runs the check. */
function check(fields: string, changelog = "", more = "") {
  writeFileSync(join(root, "schema/site.graphqls"), `directive @rest(path: String) on QUERY\ntype Query\nextend type Query { ${fields} }\n${more}`);
  writeFileSync(join(root, "cmd/siteapi/CHANGELOG.md"), `# Changes\n${changelog}`);
  git("add", ".");
  git("commit", "--quiet", "--allow-empty", "--message", "Change");

  const { status, stdout, stderr } = spawnSync(process.execPath, ["breaking.mjs", root], { encoding: "utf8" });
  return { status, output: stdout + stderr };
}

test("a breaking change of the schema needs a line in the changelog", () => {
  mkdirSync(join(root, "schema"));
  mkdirSync(join(root, "cmd/siteapi"), { recursive: true });
  git("init", "--quiet");

  const first = check("name: String, phone(id: ID): String");
  assert.equal(first.status, 0, first.output);
  assert.match(first.output, /no release yet/);

  // Before the first release, main is what others run.
  git("update-ref", "refs/remotes/origin/main", "HEAD");
  const renamed = check("title: String, phone(id: ID): String");
  assert.equal(renamed.status, 1, renamed.output);
  assert.match(renamed.output, /origin\/main: Query\.name was removed/);
  check("name: String, phone(id: ID): String");

  git("tag", "v1.9.0");
  const more = check("name: String, phone(id: ID): String, email: String");
  assert.equal(more.status, 0, more.output);
  assert.match(more.output, /since v1\.9\.0 breaks/);

  git("tag", "v1.10.0"); // newer than v1.9.0; compared with once a commit follows it
  for (const [fields, change] of [
    ["name: String, phone(id: ID): String", "Query.email was removed"],
    ["name: String, phone(id: ID!): String, email: String", "Query.phone arg id has changed type"],
  ] as const) {
    const broken = check(fields);
    assert.equal(broken.status, 1, broken.output);
    assert.ok(broken.output.includes(`breaks clients of v1.10.0: ${change}`), broken.output);
  }

  const announced = check("name: String", "* **Breaking** `email` is gone.\n");
  assert.equal(announced.status, 0, announced.output);
  assert.match(announced.output, /Query\.email was removed/);

  // The line of one release does not announce the changes after it.
  git("tag", "v2.0.0");
  const again = check("phone: String", "* **Breaking** `email` is gone.\n");
  assert.equal(again.status, 1, again.output);
});

test("mutations and subscriptions count as well", () => {
  const types = (event: string) => `type Mutation { add: Int }\ntype Subscription { ${event}(after: String): Int }\n`;
  check("name: String", "", types("leadEvents"));
  git("tag", "v3.0.0");

  const renamed = check("name: String", "", types("changes"));
  assert.equal(renamed.status, 1, renamed.output);
  assert.match(renamed.output, /breaks clients of v3\.0\.0: Subscription\.leadEvents was removed/);

  const gone = check("name: String", "", types("leadEvents").replace("add", "put"));
  assert.equal(gone.status, 1, gone.output);
  assert.match(gone.output, /Mutation\.add was removed/);
});
