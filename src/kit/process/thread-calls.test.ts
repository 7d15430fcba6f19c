import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { ThreadCalls } from './thread-calls.ts';

interface Remote {
  part(text: string): void;
  sum(a: number, b: number): number;
  receive(bytes: ArrayBuffer): void;
}

/** Every slice is one message. */
class Turns {
  readonly sliceMs = 0;
  pauses = 0;

  nowMs(): number {
    return performance.now();
  }

  async pause(): Promise<void> {
    this.pauses += 1;
    await nextTurn();
  }
}

function opened(t: TestContext): { readonly calls: ThreadCalls<Remote>; readonly seen: string[] } {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  const seen: string[] = [];
  new ThreadCalls(port2, {
    part: (text: string) => void seen.push(text),
    sum: (a: number, b: number) => {
      seen.push('sum');
      return a + b;
    },
    receive: () => void seen.push('received'),
  });
  return { calls: new ThreadCalls<Remote>(port1, {}), seen };
}

suite('messages in slices', () => {
  test('are sent in as many turns as they need, before everything that is sent later', async (t) => {
    const { calls, seen } = opened(t);
    const turns = new Turns();
    calls.tellInSlices('part', [['a'], ['b']], turns);
    calls.tell('part', ['c']);
    calls.tellInSlices('part', [['d']], turns);
    assert.equal(await calls.call('sum', 1, 2), 3);
    assert.deepEqual(seen, ['a', 'b', 'c', 'd', 'sum']);
    assert.ok(turns.pauses >= 4, `${turns.pauses} pauses`);
    assert.equal(await calls.call('sum', 3, 4), 7);
  });

  test('do not delay what is handed over', async (t) => {
    const { calls, seen } = opened(t);
    calls.tellInSlices('part', [['a'], ['b'], ['c']], new Turns());
    const bytes = new ArrayBuffer(8);
    calls.tell('receive', [bytes], [bytes]);
    await calls.call('sum', 1, 2);
    assert.deepEqual(seen.toSorted(), ['a', 'b', 'c', 'received', 'sum']);
    assert.notEqual(seen.at(-2), 'received');
  });

  test('fail only the call that cannot be copied', async (t) => {
    const { calls, seen } = opened(t);
    calls.tellInSlices('part', [['a']], new Turns());
    const failed = calls.call('sum', (() => 1) as never, 2);
    const whole = calls.call('sum', 1, 2);
    await assert.rejects(failed, /could not be cloned/);
    assert.equal(await whole, 3);
    assert.deepEqual(seen, ['a', 'sum']);
  });
});
