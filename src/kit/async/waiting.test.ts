import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { onBug } from '../guarded-listeners.ts';
import { atMost, periodically, within } from './waiting.ts';

const never = (): Promise<never> => new Promise(() => {});

suite('a deadline for a promise', () => {
  test('gives the result that came in time, and its failure', async () => {
    assert.equal(await within(Promise.resolve(1), 60_000, 'it'), 1);
    await assert.rejects(within(Promise.reject(new Error('broken')), 60_000, 'it'), { message: 'broken' });
    assert.equal(await atMost(Promise.resolve(1), 60_000, 'late'), 1);
    await assert.rejects(atMost(Promise.reject(new Error('broken')), 60_000, 'late'), { message: 'broken' });
  });

  test('says what was late, or gives the value for it', async () => {
    await assert.rejects(within(never(), 1, 'the database'), { message: 'the database: no response within 1 ms' });
    assert.equal(await atMost(never(), 1, 'late'), 'late');
  });

  test('leaves no timer behind', async () => {
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await within(Promise.resolve(), 60_000, 'it');
    const after = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    assert.equal(after, before);
  });

  test('ignores a failure that comes after it', async () => {
    const work = Promise.withResolvers<void>();
    assert.equal(await atMost(work.promise, 1, 'late'), 'late');
    work.reject(new Error('too late for anybody'));
    await assert.doesNotReject(new Promise((resolve) => setImmediate(resolve)));
  });
});

suite('a periodic task', () => {
  test('runs one at a time, and does not make up for ticks during a slow run', async () => {
    const gate = Promise.withResolvers<void>();
    let [runs, running, most] = [0, 0, 0];
    const periodic = periodically(async () => {
      runs += 1;
      running += 1;
      most = Math.max(most, running);
      if (runs === 1) await gate.promise;
      running -= 1;
    }, 2);
    await sleep(100);
    assert.equal(runs, 1);
    gate.resolve();
    await new Promise(setImmediate);
    assert.ok(runs <= 2, `${runs} runs at once`);
    while (runs < 3) await sleep(2);
    await periodic.close();
    assert.equal(most, 1);
    const before = runs;
    await sleep(20);
    assert.equal(runs, before);
  });

  test('shares the run in progress, and ends with it', async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const periodic = periodically(async () => {
      runs += 1;
      await gate.promise;
    }, 60_000);
    const [one, other] = [periodic.run(), periodic.run()];
    assert.equal(one, other);
    let isClosed = false;
    const closed = periodic.close().then(() => {
      isClosed = true;
    });
    await new Promise(setImmediate);
    assert.equal(isClosed, false);
    gate.resolve();
    await closed;
    assert.equal(runs, 1);
  });

  test('a task that throws at once fails like one that rejects, and runs again', async (t) => {
    const reported: unknown[] = [];
    t.after(onBug(({ error }) => reported.push(error)));
    const periodic = periodically(() => {
      throw new Error('at once');
    }, 2);
    await assert.rejects(periodic.run(), /at once/);
    while (reported.length < 2) await sleep(2);
    await periodic.close();
  });
});
