import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRestart, runRestart } from '../tunnel/support/restart-round.ts';

const AGENTS = 200;

/** The full form of `test/tunnel/faults/restart.test.ts`. */
test(`kill -9 of a server with ${AGENTS} agents: all come back under their names, spread out, without a storm`, async (t) => {
  const figures = await runRestart(t, { agents: AGENTS, processes: 2 });
  t.diagnostic(describeRestart(figures));
  console.log(describeRestart(figures));
  assert.equal(figures.backMs.length, AGENTS);
  // Two connections each, and a few failed attempts: not all at the same moment.
  assert.ok(figures.mostDials < AGENTS, `${figures.mostDials} dials in 100 ms`);
});
