import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LineOutput } from './standard-output.ts';

/** A reader that consumes only as many bytes as the test allows. */
class Reader {
  text = '';
  room = Number.POSITIVE_INFINITY;
  failure: Error | null = null;

  readonly tryWrite = (bytes: Uint8Array): number => {
    if (this.failure !== null) throw this.failure;
    const count = Math.min(bytes.length, this.room);
    this.room -= count;
    this.text += Buffer.from(bytes.subarray(0, count)).toString();
    return count;
  };
}

function open(maxPendingBytes = 100): { reader: Reader; output: LineOutput } {
  const reader = new Reader();
  const output = new LineOutput({ tryWrite: reader.tryWrite, maxPendingBytes, retryMs: 1 });
  output.gapLine = (count) => `(${count} dropped)\n`;
  return { reader, output };
}

suite('line output', () => {
  test('writes at once while the reader keeps up', () => {
    const { reader, output } = open();
    output.write('one\n');
    output.write('two\n');
    assert.equal(reader.text, 'one\ntwo\n');
  });

  test('keeps order and every byte when the reader consumes a line in pieces', async () => {
    const { reader, output } = open();
    reader.room = 2;
    output.write('first\n');
    output.write('second\n');
    assert.equal(reader.text, 'fi');
    reader.room = 5;
    await sleep(20);
    assert.equal(reader.text, 'first\ns');
    reader.room = Number.POSITIVE_INFINITY;
    await sleep(20);
    assert.equal(reader.text, 'first\nsecond\n');
    assert.equal(output.dropped, 0);
  });

  test('drops whole lines beyond its bound, counts them, and marks the gap once', async () => {
    const { reader, output } = open(20);
    reader.room = 0;
    for (let at = 0; at < 10; at += 1) output.write(`line ${at}\n`);
    output.write('three\nin\none\n');
    assert.ok(output.pendingBytes <= 20);
    reader.room = Number.POSITIVE_INFINITY;
    await sleep(20);
    output.write('after\n');
    assert.equal(reader.text, 'line 0\nline 1\n(11 dropped)\nafter\n');
    assert.equal(output.dropped, 11);
  });

  test('survives a reader that is gone, and reports the loss to the next one', () => {
    const { reader, output } = open();
    reader.failure = new Error('EPIPE');
    output.write('lost\n');
    output.write('lost\n');
    reader.failure = null;
    output.write('seen\n');
    assert.equal(reader.text, '(2 dropped)\nseen\n');
    assert.equal(output.pendingBytes, 0);
  });

  test('waits at the end for a bounded time only', () => {
    const { reader, output } = open();
    reader.room = 1;
    output.write('stuck\n');
    const before = performance.now();
    output.flush(30);
    assert.ok(performance.now() - before >= 30);
    assert.equal(output.pendingBytes, 5);
    reader.room = 10;
    output.flush(30);
    assert.equal(reader.text, 'stuck\n');
  });
});
