// Own process: sets V8 flags.
import assert from 'node:assert/strict';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { bufferPassed, collectPassedBuffers } from '../net/waiting-bytes.ts';
import { tuneRuntime } from './tune-runtime.ts';

/** The runtime's types lack it. */
interface GcEntry {
  readonly detail: { readonly kind: number };
}

after(() => collectPassedBuffers(null));

const kinds: number[] = [];
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) kinds.push((entry as unknown as GcEntry).detail.kind);
});
observer.observe({ entryTypes: ['gc'] });
after(() => observer.disconnect());

function majors(): number {
  return kinds.filter((kind) => kind === constants.NODE_PERFORMANCE_GC_MAJOR).length;
}

test('a gigabyte of buffers passes without a collection of the whole heap', async () => {
  await pass(1e9);
  const untuned = majors();
  assert.ok(untuned >= 5, `only ${untuned} full collections: V8 no longer needs this setting, remove it`);
  const tuned = tuneRuntime();
  await pass(2e8);
  kinds.length = 0;
  await pass(1e9);
  tuned.stop();
  assert.ok(majors() * 3 <= untuned, `${majors()} full collections, ${untuned} without tuning`);
  assert.ok(kinds.length >= 20, `${kinds.length} collections in all`);
});

test('the same where V8 leaves little room, because hardly anything is promoted', async () => {
  const heap = Array.from({ length: 300_000 }, (_, at) => ({ at, list: [at] }));
  const tuned = tuneRuntime();
  // What it chooses in such a server. Here it would depend on the speed of this machine.
  setFlagsFromString('--heap-growing-percent=10');
  tuned.collectAll();
  kinds.length = 0;
  await pass(1e9);
  tuned.stop();
  assert.ok(majors() <= 5, `${majors()} full collections of ${heap.length} objects`);
});

async function pass(total: number): Promise<void> {
  for (let passed = 0; passed < total; passed += 65_536) {
    bufferPassed(Buffer.allocUnsafeSlow(65_536).length);
    if (passed % 6_553_600 === 0) await turn();
  }
  await turn();
}
