import assert from 'node:assert/strict';
import { onBug } from '../../../../src/kit/guarded-listeners.ts';
import type { Cleanup } from '../../../support/cleanup.ts';
import type { EdgeWorld } from '../../../support/edge-world.ts';
import { RawPaths } from '../../../support/raw-paths.ts';
import { FuzzLane } from './fuzz-lane.ts';

const PROGRESS_CASES = 10_000;

export interface FuzzOptions {
  /** Seed of the first case; the others count up. */
  readonly seed: number;
  readonly cases: number;
  /** After this many cases of a lane a legitimate request must succeed. */
  readonly batch: number;
  /** With a second node, whose visitors reach agents of the first one. */
  readonly hasHop: boolean;
}

export interface FuzzFigures {
  readonly cases: number;
  readonly honest: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** How requests ended, by status, and why upstreams failed: shows whether the cases reach anything. */
  readonly outcomes: string;
}

/**
 * Hostile cases on every pair of protocols at the same time. Servers and agents run in this process, where an uncaught
 * exception, or one contained by a listener's guard, is a failure. Fails with the seeds and scripts of the current
 * cases.
 */
export async function fuzz(test: Cleanup, { seed, cases, batch, hasHop }: FuzzOptions): Promise<FuzzFigures> {
  const world = await RawPaths.open(test, { copies: 2, hasHop, env: { POSTERN_ACCESS_LOG: 'false' } });
  const lanes = world.paths.map(
    (path, at) => new FuzzLane(world, path, at < world.paths.length / 2 ? 'http/1.1' : 'h2'),
  );
  const crashes: string[] = [];
  const onCrash = (error: Error): void => {
    const cause = error.cause instanceof Error ? error.cause.stack : '';
    crashes.push(`${error.stack}\n${cause}\n${lanes.map((lane) => lane.describe()).join('\n')}`);
  };
  process.prependListener('uncaughtException', onCrash);
  // A contained exception does not end the process, but it is still a bug.
  const stopListening = onBug(({ error, facts }) => {
    onCrash(new Error(`a bug was contained: ${JSON.stringify(facts)}`, { cause: error }));
  });
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  let next = 0;
  let honest = 0;
  const runLane = async (lane: FuzzLane): Promise<void> => {
    while (next < cases) {
      const first = seed + next;
      for (let at = 0; at < batch && next < cases; at += 1) {
        next += 1;
        if (next % PROGRESS_CASES === 0) console.log(`${next} cases`);
        await lane.run(seed + next - 1);
        assert.deepEqual(crashes, []);
      }
      await lane.assertHonest().catch((error: Error) => {
        throw new Error(`${error.message}\nafter the cases from ${first} on; the last: ${lane.describe()}`);
      });
      honest += 1;
      assert.deepEqual(crashes, [], `in the cases from ${first} on, ${lane.name}`);
    }
  };
  try {
    await Promise.all(lanes.map(runLane));
    // Ended exchanges must not count as in progress.
    await assertNothingLeft(world);
  } finally {
    process.off('uncaughtException', onCrash);
    stopListening();
    world.disconnect();
  }
  assert.deepEqual(crashes, []);
  const { user, system } = process.cpuUsage(cpu);
  const outcomes = await outcomesOf(world);
  return {
    cases: next,
    honest,
    outcomes,
    seconds: (performance.now() - startedAt) / 1000,
    cpuSeconds: (user + system) / 1e6,
  };
}

async function assertNothingLeft(world: RawPaths): Promise<void> {
  world.disconnect();
  for (const { edge } of world.worlds) await assertNoneInFlight(edge);
}

async function assertNoneInFlight(edge: EdgeWorld): Promise<void> {
  let inFlight = '';
  for (let tries = 0; tries < 100; tries += 1) {
    const metrics = await edge.metrics();
    inFlight = /^postern_edge_requests_in_flight(?:\{[^}]*\})? (\S+)$/m.exec(metrics)?.[1] ?? 'no figure';
    if (inFlight === '0') return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`requests in flight after all clients have gone: ${inFlight}`);
}

async function outcomesOf(world: RawPaths): Promise<string> {
  const counts = new Map<string, number>();
  const metrics = await Promise.all(world.worlds.map(({ edge }) => edge.metrics()));
  for (const line of metrics.join('\n').split('\n')) {
    const found = /^postern_edge_(requests|upstream_failures|refused|http2_errors)_total\{([^}]*)\} (\d+)/.exec(line);
    if (found === null) continue;
    const labels = /(?:status|class|reason|code)="([^"]*)"/.exec(found[2] ?? '')?.[1] ?? '';
    const key = `${found[1]} ${labels}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(found[3]));
  }
  return [...counts].map(([key, count]) => `${key}: ${count}`).join(', ');
}
