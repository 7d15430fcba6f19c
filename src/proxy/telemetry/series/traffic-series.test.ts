import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { systemClock } from '../../../kit/clock.ts';
import { bucketOf, quantile, StepRing, TrafficSeries } from './traffic-series.ts';

const sample = { isError: false, bytesIn: 10, bytesOut: 100, durationMs: 8 };
const START_MS = 1_800_000_000_000;

function world() {
  let nowMs = START_MS;
  const series = new TrafficSeries({ ...systemClock, nowMs: () => nowMs });
  const passSeconds = (seconds: number): void => {
    nowMs += seconds * 1000;
  };
  return { series, passSeconds, now: () => nowMs };
}

suite('latency buckets', () => {
  for (const ms of [0, 0.1, 0.25, 1, 7.9, 250, 59_000]) {
    test(`${ms} ms is in a bucket at most 19 % above it`, () => {
      const counts = new Uint32Array(96);
      (counts[bucketOf(ms)] as number) += 1;
      const found = quantile(counts, 1, 0.5);
      assert.ok(found >= ms && found <= Math.max(0.25, ms) * 1.2, String(found));
    });
  }

  test('take what is no number and what is endless', () => {
    assert.equal(bucketOf(Number.NaN), 0);
    assert.equal(bucketOf(Number.POSITIVE_INFINITY), 95);
  });
});

suite('series', () => {
  test('have one point for each step, also for those without a request', () => {
    const { series, passSeconds, now } = world();
    series.add(sample, null);
    series.add({ ...sample, isError: true }, null);
    passSeconds(25);
    series.add(sample, null);
    const points = series.points({ fromMs: now() - 25_000, stepSeconds: 10, routeId: null }) ?? [];
    assert.deepEqual(
      points.map(({ atMs, requests, errors, bytesOut }) => [(atMs - START_MS) / 1000, requests, errors, bytesOut]),
      [
        [0, 2, 1, 200],
        [10, 0, 0, 0],
        [20, 1, 0, 100],
      ],
    );
    assert.ok((points[0]?.p95Ms ?? 0) >= 8);
    const minutes = series.points({ fromMs: 0, stepSeconds: 60, routeId: null }) ?? [];
    assert.equal(minutes.length, 1440);
    assert.equal(minutes.at(-1)?.requests, 3);
  });

  test('forget what is older than an hour and a day', () => {
    const { series, passSeconds } = world();
    series.add(sample, null);
    passSeconds(3600);
    const total = (stepSeconds: number) =>
      (series.points({ fromMs: 0, stepSeconds, routeId: null }) ?? []).reduce((sum, { requests }) => sum + requests, 0);
    assert.deepEqual([total(10), total(60)], [0, 1]);
    passSeconds(86_400);
    assert.equal(total(60), 0);
  });

  test('count into the current step while the clock goes back', () => {
    const ring = new StepRing(1000, 10);
    ring.add(5000, sample);
    ring.add(2000, sample);
    assert.equal(ring.points(0, 5000).at(-1)?.requests, 2);
  });

  test('keep 500 routes, and replace the quietest one with one that became busy', () => {
    const { series, passSeconds, now } = world();
    for (let route = 0; route < 600; route += 1)
      for (let twice = 0; twice < 2; twice += 1) series.add(sample, { routeId: `r${route}`, edgeId: 'e' });
    assert.equal(series.routeCount, 500);
    assert.equal(series.points({ fromMs: now(), stepSeconds: 10, routeId: 'r599' }), null);
    passSeconds(61);
    series.add(sample, { routeId: 'r0', edgeId: 'e' });
    for (let many = 0; many < 50; many += 1) series.add(sample, { routeId: 'r599', edgeId: 'e' });
    passSeconds(61);
    series.add(sample, { routeId: 'r599', edgeId: 'e' });
    assert.equal(series.routeCount, 500);
    const [busiest] = series.busiest(now() - 30_000, 10);
    assert.deepEqual([busiest?.routeId, busiest?.requests], ['r599', 1]);
    assert.notEqual(series.points({ fromMs: now(), stepSeconds: 10, routeId: 'r0' }), null);
  });
});
