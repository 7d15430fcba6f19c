import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SharedResult } from './shared-result.ts';

suite('a shared result', () => {
  test('is made once for calls at the same time and shortly after, and only when somebody calls', async () => {
    let [runs, nowMs] = [0, 5_000];
    let finish = (): void => {};
    const work = async (): Promise<number> => {
      runs += 1;
      const run = runs;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return run;
    };
    const shared = new SharedResult(work, 100, () => nowMs);
    assert.equal(runs, 0);
    const first = shared.get();
    nowMs += 1_000;
    const second = shared.get();
    assert.equal(runs, 1);
    finish();
    assert.deepEqual(await Promise.all([first, second]), [1, 1]);
    nowMs += 99;
    assert.equal(await shared.get(), 1);
    nowMs += 1;
    const third = shared.get();
    finish();
    assert.equal(await third, 2);
  });

  test('does not keep a failure', async () => {
    let runs = 0;
    const work = async (): Promise<string> => {
      runs += 1;
      if (runs === 1) throw new Error('the first run fails');
      return 'made';
    };
    const shared = new SharedResult(work, 100, () => 0);
    await assert.rejects(Promise.all([shared.get(), shared.get()]), /the first run fails/);
    assert.equal(await shared.get(), 'made');
    assert.equal(runs, 2);
  });
});
