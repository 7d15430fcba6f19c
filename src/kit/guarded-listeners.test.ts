import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { attach, closing, guarded, ignoreErrors, listen, listenOnce, listenPer, onBug } from './guarded-listeners.ts';

function throwing(): never {
  throw new Error('injected');
}

test('passes an exception to the owner, and calls the other listeners', () => {
  const emitter = new EventEmitter();
  const contained: unknown[] = [];
  const owner = { contain: (error: unknown) => contained.push(error) };
  let others = 0;
  listen(emitter, 'data', owner, throwing);
  listenOnce(emitter, 'data', owner, throwing);
  attach(emitter, 'data', guarded(owner, throwing));
  listenPer(emitter, 'data', () => owner, throwing);
  listen(emitter, 'data', owner, () => {
    others += 1;
  });
  emitter.emit('data');
  emitter.emit('data');
  assert.deepEqual([contained.length, others], [7, 2]);
});

test('passes arguments to the listener', () => {
  const emitter = new EventEmitter();
  const owner = { contain: throwing };
  const seen: unknown[] = [];
  listen(emitter, 'stream', owner, (...args: unknown[]) => seen.push(...args));
  listenPer(
    emitter,
    'stream',
    () => owner,
    (...args: unknown[]) => seen.push(...args) as never,
  );
  emitter.emit('stream', 1, 2, 3, 4);
  assert.deepEqual(seen, [1, 2, 3, 4, 1, 2, 3, 4]);
});

test('removes a guarded listener', () => {
  const emitter = new EventEmitter();
  const listener = guarded({ contain: throwing }, throwing);
  attach(emitter, 'data', listener);
  emitter.off('data', listener);
  assert.equal(emitter.listenerCount('data'), 0);
});

test('closes the connection and reports the bug', (t) => {
  const bugs: unknown[] = [];
  t.after(onBug((bug) => bugs.push(bug)));
  let isDestroyed = false;
  const connection = Object.assign(new EventEmitter(), {
    destroy: () => {
      isDestroyed = true;
    },
  });
  listen(ignoreErrors(connection), 'data', closing(connection, 'test'), throwing);
  connection.emit('data');
  connection.emit('error', new Error('ignored'));
  assert.equal(isDestroyed, true);
  assert.deepEqual(bugs, [{ error: new Error('injected'), facts: { part: 'test' } }]);
});
