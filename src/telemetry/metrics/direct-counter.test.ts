import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Registry } from 'prom-client';
import { DirectCounter } from './direct-counter.ts';

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
