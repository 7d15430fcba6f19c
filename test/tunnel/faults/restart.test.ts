import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRestart, runRestart } from '../support/restart-round.ts';

const AGENTS = 10;

/** `test/long/tunnel-restart.test.ts` has 200 of them. */
test(`kill -9 of a server with ${AGENTS} agents: all come back under their names, spread out`, async (t) => {
  const figures = await runRestart(t, { agents: AGENTS, processes: 1 });
  t.diagnostic(describeRestart(figures));
  assert.equal(figures.backMs.length, AGENTS);
  assert.ok(new Set(figures.backMs.map((ms) => Math.floor(ms / 10))).size > 3, 'they came all at once');
});
