import assert from 'node:assert/strict';
import type { Http2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { CREDIT, DATA, END, FrameReader, RESET, RESPONSE } from './channel-frames.ts';
import { ChannelOutput } from './channel-output.ts';

const owner = {
  contain: (error: unknown): void => {
    throw error;
  },
};

class FakeStream extends Duplex {
  readonly written: Buffer[] = [];
  writes = 0;
  /** Null: writes complete at once. */
  #waiting: (() => void)[] | null = null;

  override _read(): void {}

  hold(): void {
    this.#waiting = [];
  }

  completeOne(): void {
    this.#waiting?.shift()?.();
  }

  override _write(chunk: Buffer, _encoding: unknown, done: () => void): void {
    this.writes += 1;
    this.written.push(Buffer.from(chunk));
    if (this.#waiting === null) done();
    else this.#waiting.push(done);
  }
}

function opened(): { readonly stream: FakeStream; readonly output: ChannelOutput } {
  const stream = new FakeStream({ writableHighWaterMark: 16_384 });
  return { stream, output: new ChannelOutput(stream as unknown as Http2Stream, owner) };
}

/** Data is joined: how it is split is not promised. */
function read(bytes: Buffer): (readonly [number, number, string])[] {
  const frames: [number, number, string][] = [];
  const reader = new FrameReader({
    onFrame: (type, id, from, start, end) => frames.push([type, id, from.toString('latin1', start, end)]),
    onChunk: (id, chunk) => frames.push([DATA, id, chunk.toString('latin1')]),
  });
  reader.read(bytes);
  return frames;
}

suite('the output of a channel', () => {
  test('is read as it was written, also where one block of memory ends and the next begins', async () => {
    const size = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 60_000, max: 66_000 }));
    const one = fc.record({
      kind: fc.constantFrom('head', 'text', 'number', 'data'),
      id: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 2 ** 48 - 1 })),
      size,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 40 }), async (frames) => {
        const { stream, output } = opened();
        const expected: (readonly [number, number, string])[] = [];
        for (const { kind, id, size: length } of frames) {
          const text = 'é'.repeat(length);
          if (kind === 'head') {
            output.head(RESPONSE, id, 0x41_42, text);
            expected.push([RESPONSE, id, `AB${text}`]);
          } else if (kind === 'text') {
            output.text(END, id, text);
            expected.push([END, id, text]);
          } else if (kind === 'number') {
            output.number(CREDIT, id, 0x41_42_43_44);
            expected.push([CREDIT, id, 'ABCD']);
          } else if (length > 0) {
            output.data(id, Buffer.from(text, 'latin1'));
            expected.push([DATA, id, text]);
          }
        }
        await turn();
        assert.deepEqual(read(Buffer.concat(stream.written)), expected);
        assert.equal(output.hasUnsent, false);
      }),
      { numRuns: 200 },
    );
  });

  test('writes numbers correctly at every place of a block of memory', async () => {
    const { stream, output } = opened();
    for (let count = 0; count < 20_000; count += 1) output.number(RESET, count + 1, count);
    await turn();
    const frames = read(Buffer.concat(stream.written));
    assert.equal(frames.length, 20_000);
    for (const [at, [, , text]] of frames.entries()) assert.equal(Buffer.from(text, 'latin1').readUInt32BE(), at);
  });

  test('of one turn of the event loop is one write', async () => {
    const { stream, output } = opened();
    for (let count = 0; count < 100; count += 1) output.head(RESPONSE, count + 1, 200, ':status\n200');
    assert.equal(stream.writes, 0);
    await turn();
    assert.equal(stream.writes, 1);
  });

  test('is full until the stream is empty, so that those who wait are not overtaken', async () => {
    const { stream, output } = opened();
    stream.hold();
    const chunk = Buffer.alloc(65_536);
    for (let count = 0; count < 6; count += 1) output.data(1, chunk);
    assert.equal(output.isFull, true);
    for (let count = 0; count < 8; count += 1) stream.completeOne();
    output.head(RESPONSE, 2, 200, '');
    await turn();
    assert.ok(stream.writableLength < 262_144);
    assert.equal(output.isFull, true);
    output.drained();
    assert.equal(output.isFull, false);
  });

  test('that is flushed at once can be ended', async () => {
    const { stream, output } = opened();
    output.number(RESET, 1, 8);
    output.flush();
    stream.end();
    await turn();
    assert.equal(read(Buffer.concat(stream.written)).length, 1);
  });
});
