import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ExportResult, ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { type FinishedSpan, MAX_SPANS, SpanQueue } from './span-queue.ts';

const SPAN: FinishedSpan = {
  name: 'GET /',
  kind: 'server',
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentSpanId: null,
  isParentRemote: false,
  startMs: 1_700_000_000_000.25,
  endMs: 1_700_000_000_001.75,
  attributes: {},
  isError: false,
};

function queueOf(export_: SpanExporter['export']) {
  const waiting: ReadableSpan[] = [];
  const failures: (Error | undefined)[] = [];
  const ports: { exporter?: SpanExporter } = {};
  const queue = new SpanQueue({
    exporter: { export: export_, shutdown: async () => {} },
    resource: { attributes: {} },
    version: '1',
    createProcessor: (exporter) => {
      ports.exporter = exporter;
      return { onEnd: (span) => void waiting.push(span), shutdown: () => new Promise(() => {}) };
    },
    onFailure: (error) => failures.push(error),
  });
  const flush = (): void => ports.exporter?.export(waiting.splice(0), () => {});
  return { queue, waiting, failures, flush };
}

suite('the queue of spans', () => {
  test('drops whole traces when it is full, and has room again after a batch', () => {
    const { queue, waiting, flush } = queueOf((_spans, done) => done({ code: 0 }));
    const trace = [SPAN, SPAN, SPAN];
    const room = Math.floor(MAX_SPANS / 3);
    for (let at = 0; at < room + 10; at += 1) queue.send(trace);
    assert.equal(waiting.length, room * 3);
    assert.equal(queue.counts.dropped, 10 * 3);
    assert.equal(queue.queued, waiting.length);
    const { length } = waiting;
    flush();
    assert.deepEqual([queue.queued, queue.counts.sent], [0, length]);
    queue.send(trace);
    assert.equal(queue.queued, 3);
  });

  test('counts what the collector did not accept, and an exporter that throws', () => {
    let answer: (done: (result: ExportResult) => void) => void = (done) => done({ code: 1, error: new Error('no') });
    const { queue, failures, flush } = queueOf((_spans, done) => answer(done));
    queue.send([SPAN]);
    flush();
    answer = () => assert.fail('broken');
    queue.send([SPAN, SPAN]);
    flush();
    assert.deepEqual([queue.queued, queue.counts.failed, failures.length], [0, 3, 2]);
  });

  test('closes within its limit, and takes nothing afterwards', async () => {
    const { queue, waiting } = queueOf(() => {});
    await queue.close(1);
    queue.send([SPAN]);
    assert.deepEqual([waiting.length, queue.counts.dropped], [0, 1]);
  });

  test('writes times with microseconds', () => {
    const { queue, waiting } = queueOf(() => {});
    queue.send([SPAN]);
    const [span] = waiting;
    assert.deepEqual(
      [span?.startTime, span?.endTime, span?.duration],
      [
        [1_700_000_000, 250_000],
        [1_700_000_000, 1_750_000],
        [0, 1_500_000],
      ],
    );
  });
});
