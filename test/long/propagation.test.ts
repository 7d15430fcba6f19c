// Own process: measures times.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startNodeProcesses } from '../nodes/support/node-processes.ts';
import { createNewsSite, measureConfiguration, measureRevocation, percentile } from '../nodes/support/propagation.ts';

const ROUNDS = 200;
const LIMIT_MS = 250;

const site = await createNewsSite(await startNodeProcesses({ after }, 3));

for (const [what, measure] of [
  ['configuration written at one of three nodes is served by the others', measureConfiguration],
  ['a login that is revoked at one of three nodes ends at the others', measureRevocation],
] as const) {
  test(`${what} in less than ${LIMIT_MS} ms at the 99th percentile`, async (t) => {
    const times = await measure(site, ROUNDS);
    const [median, p99, most] = [0.5, 0.99, 1].map((share) => percentile(times, share));
    t.diagnostic(`p50 ${median?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms, most ${most?.toFixed(1)} ms`);
    assert.ok((p99 ?? 0) < LIMIT_MS, `p99 is ${p99?.toFixed(1)} ms`);
  });
}
