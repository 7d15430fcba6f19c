// Own process: sets V8 flags and measures memory.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { tuneRuntime } from './tune-runtime.ts';

const MIB = 1024 * 1024;
const QUIET_MS = 300;

const tuned = tuneRuntime({ quietMs: QUIET_MS });
after(() => tuned.stop());

test('gives the young generation back when the process is idle, and not before', async () => {
  grow();
  const grown = youngBytes();
  assert.ok(grown > 8 * MIB, `only ${grown} bytes`);
  // Busy, but in turns: the look comes in between.
  for (const end = performance.now() + 3 * QUIET_MS; performance.now() < end; await sleep(0)) spin(20);
  assert.ok(youngBytes() > 4 * MIB, `${youngBytes()} bytes while it is busy`);
  for (const end = performance.now() + 60_000; youngBytes() > MIB && performance.now() < end; ) await sleep(QUIET_MS);
  assert.ok(youngBytes() <= MIB, `${youngBytes()} bytes at rest`);
});

function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.physical_space_size ?? 0;
}

/** Survivors make V8 enlarge the young generation. */
function grow(): void {
  const kept: unknown[] = [];
  for (let at = 0; at < 400_000; at += 1) kept.push({ at, list: [at] });
}

function spin(forMs: number): void {
  for (const end = performance.now() + forMs; performance.now() < end; );
}
