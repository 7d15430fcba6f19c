import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { KeyedMutex } from './keyed-mutex.ts';

suite('a keyed mutex', () => {
  test('runs tasks of one key in order, also after a failure, and others at once', async () => {
    const mutex = new KeyedMutex();
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = mutex.run('a', async () => {
      await gate.promise;
      order.push('first');
      throw new Error('broken');
    });
    const second = mutex.run('a', async () => order.push('second'));
    await mutex.run('b', async () => order.push('other'));
    gate.resolve();
    await assert.rejects(first, { message: 'broken' });
    await second;
    assert.deepEqual(order, ['other', 'first', 'second']);
  });

  test('says when the tasks so far have ended', async () => {
    const mutex = new KeyedMutex();
    await mutex.settled('a');
    const gate = Promise.withResolvers<void>();
    let isDone = false;
    void mutex.run('a', () => gate.promise);
    void mutex.run('a', async () => {
      isDone = true;
    });
    const settled = mutex.settled('a');
    gate.resolve();
    await settled;
    assert.equal(isDone, true);
  });
});
