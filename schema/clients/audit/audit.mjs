// Runs the public audit suite of GraphQL over HTTP against a running service and
// fails if a MUST or a SHOULD is not met:
//
//   node audit/audit.mjs http://127.0.0.1:8080/graphql
//
// Without a URL it starts the built service itself.
//
// Introspection must be on, because two of the audits query `__type`. Unmet MAYs are listed
// but do not count.
import { serverAudits } from 'graphql-http';

import { startService } from '#service';

const service = process.argv[2] ? undefined : await startService();
const url = process.argv[2] ?? `${service.base}/graphql`;

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
await service?.stop();
