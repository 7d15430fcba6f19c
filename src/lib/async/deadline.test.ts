import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { atMost, within } from './deadline.ts';

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
