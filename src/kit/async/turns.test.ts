import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { KeyedMutex, SharedResult, Turns } from './turns.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('runs so many tasks at once, and the others in their order, also after one that fails', async () => {
  const turns = new Turns(2, 2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const run = (number: number): Promise<void> =>
    turns.run(async () => {
      begun.push(number);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (number === 1) throw new Error('fails');
    });
  const failing = assert.rejects(run(1), /fails/);
  const second = run(2);
  assert.equal(turns.isFull, false);
  const third = run(3);
  assert.equal(turns.isFull, false);
  const fourth = run(4);
  assert.equal(turns.isFull, true);
  await turn();
  assert.deepEqual(begun, [1, 2]);
  ends[0]?.();
  await failing;
  assert.deepEqual(begun, [1, 2, 3]);
  assert.equal(turns.isFull, false);
  for (const number of [1, 2, 3]) {
    ends[number]?.();
    await turn();
  }
  await Promise.all([second, third, fourth]);
  assert.deepEqual(begun, [1, 2, 3, 4]);
});

test('gives the next turn to another owner, however many tasks of one wait', async () => {
  const turns = new Turns(2);
  const done: string[] = [];
  const run = (owner: string): Promise<unknown> =>
    turns.run(async () => void done.push(await turn().then(() => owner)), owner);
  const all = Array.from({ length: 33 }, () => run('guesser'));
  all.push(run('other'), run('third'), run('other'));
  await Promise.all(all);
  assert.deepEqual(done.slice(0, 7), ['guesser', 'guesser', 'other', 'third', 'guesser', 'other', 'guesser']);
  assert.equal(done.length, 36);
});

test('none may wait where none is said to, and any number otherwise', async () => {
  const [alone, open] = [new Turns(1, 0), new Turns(1)];
  const { promise, resolve } = Promise.withResolvers<void>();
  assert.equal(alone.isFull, false);
  const running = [alone.run(() => promise), open.run(() => promise), open.run(() => promise)];
  assert.deepEqual([alone.isFull, open.isFull], [true, false]);
  resolve();
  await Promise.all(running);
  assert.equal(alone.isFull, false);
});

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
