import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestTrace } from './request-trace.ts';
import { Sampling } from './sampling.ts';
import { TraceIds } from './trace-ids.ts';

const ids = new TraceIds();
const many = Array.from({ length: 10_000 }, () => ids.traceId());

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
      const trace = new RequestTrace(
        ['traceparent', `00-${traceId}-${ids.spanId()}-${flags}`],
        new Sampling(ratio, ''),
        ids,
      );
      const headers: string[] = [];
      trace.writeTo(headers);
      assert.deepEqual(headers, ['traceparent', `00-${traceId}-${trace.spanId}-0${ratio}`]);
    }
});

test('ids are of the right length and differ', () => {
  assert.ok(many.every((id) => /^[0-9a-f]{32}$/.test(id)));
  assert.equal(new Set(many).size, many.length);
  assert.match(ids.spanId(), /^[0-9a-f]{16}$/);
});
