// Runs the public audit suite of GraphQL over HTTP against a running service and
// fails where a MUST or a SHOULD is not met:
//
//   node audit/audit.mjs http://127.0.0.1:8080/graphql
//
// Introspection has to be on: two of the audits ask for `__type`. The MAYs that are not
// met are listed but don't count.
import { serverAudits } from 'graphql-http';

const url = process.argv[2];
if (!url) {
  console.error('usage: node audit/audit.mjs <address of the GraphQL endpoint>');
  process.exit(2);
}

const marks = { ok: 'pass', notice: 'MAY not met', warn: 'SHOULD NOT MET', error: 'MUST NOT MET' };
const counts = { ok: 0, notice: 0, warn: 0, error: 0 };
for (const audit of serverAudits({ url })) {
  const result = await audit.fn();
  counts[result.status]++;
  if (result.status !== 'ok') {
    console.log(`${marks[result.status]}: ${result.id} ${result.name}: ${result.reason}`);
  }
}
console.log(
  `${counts.ok} passed, ${counts.notice} MAY, ${counts.warn} SHOULD and ${counts.error} MUST not met`,
);
process.exitCode = counts.warn + counts.error > 0 ? 1 : 0;
