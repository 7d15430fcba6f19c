import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, Registry } from 'prom-client';
import { DirectCounter, DirectHistogram } from './edge-metrics.ts';

const COUNTER = { name: 'requests_total', help: 'Requests.', labelNames: ['edge', 'route'] as const };

test('a counter whose series are kept writes what prom-client writes', async () => {
  const [own, theirs] = [new Registry(), new Registry()];
  const direct = new DirectCounter({ ...COUNTER, registers: [own] });
  const counter = new Counter({ ...COUNTER, registers: [theirs] });
  for (const [edge, route, value] of [
    ['a', 'b', 1],
    ['a', '', 3],
    ['a', 'b', 4],
  ] as const) {
    direct.series(edge, route).value += value;
    counter.labels(edge, route).inc(value);
  }
  assert.equal(await own.metrics(), await theirs.metrics());
  assert.deepEqual(await own.getMetricsAsJSON(), await theirs.getMetricsAsJSON());
  direct.removeSeries('a', 'b');
  counter.remove('a', 'b');
  assert.equal(await own.metrics(), await theirs.metrics());
});

test('a series that was removed begins again', async () => {
  const registry = new Registry();
  const direct = new DirectCounter({ ...COUNTER, registers: [registry] });
  direct.series('a', 'b').value += 5;
  direct.removeSeries('a', 'b');
  direct.series('a', 'b').value += 1;
  assert.match(await registry.metrics(), /requests_total\{edge="a",route="b"\} 1\n/);
});

const LABELS = ['edge', 'route'] as const;
const HISTOGRAM = { name: 'seconds', help: 'Seconds.', labelNames: LABELS, buckets: [0.5, 1, 10] };
const VALUES = [0, 0.5, 0.6, 1, 9, 11, 1000];

test('a histogram whose series are kept writes what prom-client writes', async () => {
  const [own, theirs] = [new Registry(), new Registry()];
  const direct = new DirectHistogram({ ...HISTOGRAM, registers: [own] });
  const histogram = new Histogram({ ...HISTOGRAM, buckets: [...HISTOGRAM.buckets], registers: [theirs] });
  for (const value of VALUES) {
    direct.series('a', 'b').observe(value);
    histogram.labels('a', 'b').observe(value);
    direct.series('a', '').observe(value);
    histogram.labels('a', '').observe(value);
  }
  assert.equal(await own.metrics(), await theirs.metrics());
  direct.removeSeries('a', 'b');
  histogram.remove('a', 'b');
  assert.equal(await own.metrics(), await theirs.metrics());
  assert.match(await own.metrics(), /seconds_bucket\{le="\+Inf",edge="a",route=""\} 7/);
});
