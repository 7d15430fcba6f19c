import assert from 'node:assert/strict';
import type { Http2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { readMore, type StreamTaker, takeStream } from './stream-end.ts';

/** Real streams are in `test/nodes/hop`. */
function taken(taker: Partial<StreamTaker> = {}): { readonly stream: Http2Stream; readonly seen: unknown[] } {
  const seen: unknown[] = [];
  const stream = new Readable({ read: () => void seen.push('read') }) as Readable as Http2Stream;
  takeStream(stream, {
    onEvent: (_stream, event, ...args) => {
      if (event !== 'response') return false;
      seen.push([event, ...args]);
      return true;
    },
    onData: (_stream, chunk) => seen.push(chunk) > 3,
    onEnd: () => void seen.push('end'),
    contain: (error) => void seen.push(error),
    ...taker,
  });
  return { stream, seen };
}

test('gives events, data and the end to the taker', () => {
  const { stream, seen } = taken();
  assert.equal(stream.emit('response', 1, 2, 3), true);
  assert.deepEqual(
    [1, 2, 3].map((byte) => stream.push(Buffer.of(byte))),
    [false, false, true],
  );
  readMore(stream);
  stream.push(null);
  assert.deepEqual(seen, [['response', 1, 2, 3], Buffer.of(1), Buffer.of(2), Buffer.of(3), 'read', 'end']);
});

test('leaves events that the taker does not take to the listeners', () => {
  const { stream, seen } = taken();
  stream.on('close', () => seen.push('closed')).on('response', () => seen.push('never'));
  stream.emit('close');
  stream.emit('response');
  assert.deepEqual(seen, ['closed', ['response', undefined, undefined, undefined]]);
});

test('does not take the end of a broken stream for END_STREAM', async () => {
  const { stream, seen } = taken();
  stream.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  stream.push(null);
  assert.deepEqual(seen, []);
});

test('passes exceptions to the taker', () => {
  const error = new Error('injected');
  const fail = (): never => {
    throw error;
  };
  const { stream, seen } = taken({ onEvent: fail, onData: fail, onEnd: fail });
  assert.equal(stream.emit('response'), true);
  assert.equal(stream.push(Buffer.of(1)), true);
  stream.push(null);
  assert.ok(seen.length >= 3 && seen.every((one) => one === error));
});

test('rejects a stream that already holds data', () => {
  const stream = new Readable({ read: () => {} });
  stream.push('early');
  assert.throws(() => takeStream(stream as Readable as Http2Stream, {} as StreamTaker), /before the stream was taken/);
});
