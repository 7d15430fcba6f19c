import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordedTrace } from './request-trace.ts';
import type { SpanQueue } from './span-queue.ts';
import { TraceIds } from './trace-context.ts';
import { halfSipHash, Sampling, Tracing } from './tracing.ts';

const ids = new TraceIds();
const many = Array.from({ length: 10_000 }, () => ids.traceId());

function tracing(sampleRatio: number): Tracing {
  return new Tracing({} as SpanQueue, { sampleRatio, samplingKey: 'key' });
}

function share(sampling: Sampling, traceIds: readonly string[] = many): number {
  return traceIds.filter((id) => sampling.includes(id)).length / traceIds.length;
}

test('the ratio is the share of traces that are recorded', () => {
  assert.equal(share(new Sampling(0, 'key')), 0);
  assert.equal(share(new Sampling(1, 'key')), 1);
  const tenth = share(new Sampling(0.1, 'key'));
  assert.ok(tenth > 0.07 && tenth < 0.13, String(tenth));
});

test('all nodes decide alike, and nobody without the key can choose an id that is recorded', () => {
  const [one, same, other] = [new Sampling(0.5, 'key'), new Sampling(0.5, 'key'), new Sampling(0.5, 'other')];
  assert.ok(many.every((id) => one.includes(id) === same.includes(id)));
  const chosen = many.filter((id) => other.includes(id));
  const recorded = share(one, chosen);
  assert.ok(recorded > 0.4 && recorded < 0.6, String(recorded));
});

test("the client's sampled flag has no effect", () => {
  const traceId = ids.traceId();
  for (const flags of ['00', '01'])
    for (const ratio of [0, 1]) {
      const trace = tracing(ratio).begin(['traceparent', `00-${traceId}-${ids.spanId()}-${flags}`]);
      const headers: string[] = [];
      trace.writeTo(headers);
      assert.equal(headers[0], 'traceparent');
      assert.match(headers[1] ?? '', new RegExp(`^00-${traceId}-[0-9a-f]{16}-0${ratio}$`));
      assert.equal(trace instanceof RecordedTrace, ratio === 1);
    }
});

test('a new trace is recorded if and only if its id is one of those that are', () => {
  const sampling = new Sampling(0.3, 'key');
  const some = tracing(0.3);
  const seen = new Set<string>();
  let recorded = 0;
  // More than are made at a time.
  for (let count = 0; count < 1_000; count += 1) {
    const trace = some.begin(['accept', '*/*']);
    const headers = ['accept', '*/*'];
    trace.writeTo(headers);
    const [, , , traceparent = ''] = headers;
    const [, traceId = '', spanId = '', flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/.exec(traceparent) ?? [];
    assert.equal(sampling.includes(traceId), flags === '01', traceparent);
    assert.equal(trace instanceof RecordedTrace, flags === '01');
    if (trace instanceof RecordedTrace) recorded += 1;
    seen.add(traceId).add(spanId);
  }
  assert.equal(seen.size, 2_000, 'every id is a new one');
  assert.ok(recorded > 200 && recorded < 400, String(recorded));
});

test('a trace that is not recorded costs its request nothing but the header', () => {
  const trace = tracing(0).begin([]);
  trace.attempt('127.0.0.1:80', true);
  trace.attemptFailed('refused', null);
  assert.ok(!(trace instanceof RecordedTrace));
  assert.equal(trace.forHop, undefined);
  const headers = ['traceparent', 'x', 'accept', '*/*', 'tracestate', 'y'];
  trace.writeTo(headers);
  assert.deepEqual([headers.slice(0, 3), headers.length], [['accept', '*/*', 'traceparent'], 4]);
});

test('ids are of the right length and differ', () => {
  assert.ok(many.every((id) => /^[0-9a-f]{32}$/.test(id)));
  assert.equal(new Set(many).size, many.length);
  assert.match(ids.spanId(), /^[0-9a-f]{16}$/);
});

test('the hash is as in the vectors of its authors (vectors_hsip32, for 0 and 4 bytes)', () => {
  assert.equal(halfSipHash([], 0x03020100, 0x07060504), 0x5b9f35a9);
  assert.equal(halfSipHash([0x03020100], 0x03020100, 0x07060504), 0x89466e2a);
});

test('every bit of words and key counts', () => {
  const hashes = new Set([
    halfSipHash([0, 0, 0, 0], 0, 0),
    halfSipHash([0, 0, 0, 0], 1, 0),
    halfSipHash([0, 0, 0, 0], 0, 1),
  ]);
  for (let word = 0; word < 4; word += 1)
    for (let bit = 0; bit < 32; bit += 1) {
      const words = [0, 0, 0, 0];
      words[word] = (1 << bit) >>> 0;
      hashes.add(halfSipHash(words, 0, 0));
    }
  assert.equal(hashes.size, 3 + 128);
});
