// Own process: measures times.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { percentile } from '../nodes/support/propagation.ts';
import { LoginWorld } from '../support/login-world.ts';
import { revocationTimes } from '../workers/revocation-times.ts';

const ROUNDS = 100;
const LIMIT_MS = 1_000;

const world = await LoginWorld.open({ after }, { env: { POSTERN_WORKERS: '4' } });

test(`a revoked login ends at four workers in less than ${LIMIT_MS} ms at the 99th percentile`, async (t) => {
  const times = await revocationTimes(world, ROUNDS);
  const [median, p99] = [0.5, 0.99].map((share) => percentile(times, share));
  t.diagnostic(`p50 ${median?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms`);
  assert((p99 ?? 0) < LIMIT_MS, `p99 is ${p99?.toFixed(1)} ms`);
});
