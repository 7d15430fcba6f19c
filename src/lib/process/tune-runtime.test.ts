// Own process: sets V8 flags.
import assert from 'node:assert/strict';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { bufferPassed, collectPassedBuffers } from '../net/passing-buffers.ts';
import { tuneRuntime } from './tune-runtime.ts';

/** The runtime's types lack it. */
interface GcEntry {
  readonly detail: { readonly kind: number };
}

after(() => collectPassedBuffers(null));

test('a gigabyte of buffers passes without a collection of the whole heap', async () => {
  const kinds: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) kinds.push((entry as unknown as GcEntry).detail.kind);
  });
  observer.observe({ entryTypes: ['gc'] });
  const majors = (): number => kinds.filter((kind) => kind === constants.NODE_PERFORMANCE_GC_MAJOR).length;
  await pass(1e9);
  const untuned = majors();
  assert.ok(untuned >= 5, `only ${untuned} full collections: V8 no longer needs this setting, remove it`);
  tuneRuntime();
  await pass(2e8);
  kinds.length = 0;
  await pass(1e9);
  observer.disconnect();
  assert.ok(majors() * 3 <= untuned, `${majors()} full collections, ${untuned} without tuning`);
  assert.ok(kinds.length >= 20, `${kinds.length} collections in all`);
});

async function pass(total: number): Promise<void> {
  for (let passed = 0; passed < total; passed += 65_536) {
    bufferPassed(Buffer.allocUnsafeSlow(65_536).length);
    if (passed % 6_553_600 === 0) await turn();
  }
  await turn();
}
