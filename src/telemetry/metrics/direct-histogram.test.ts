import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { DirectHistogram } from './direct-histogram.ts';

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
