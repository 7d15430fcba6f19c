import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { recorded } from '../../test/support/recorded-request.ts';
import { onBug } from '../lib/bug-report.ts';
import { keptText } from './kept-text.ts';
import { RequestHistory } from './request-history.ts';

suite('request history', () => {
  test('keeps the newest requests, and finds them by id', () => {
    const history = new RequestHistory({ maxRequests: 3 });
    const requests = Array.from({ length: 5 }, () => recorded());
    for (const request of requests) history.record(request);
    assert.equal(history.count, 3);
    assert.deepEqual(history.list({}, 10), requests.slice(2).reverse());
    assert.equal(history.find(requests[4]?.id ?? ''), requests[4]);
    assert.equal(history.find(requests[0]?.id ?? ''), undefined);
  });

  test('drops the oldest requests beyond its size, and stays below it', () => {
    const history = new RequestHistory({ maxRequests: 100, maxBytes: 10_000 });
    for (let at = 0; at < 50; at += 1) history.record(recorded({ path: `/${'x'.repeat(at * 20)}` }));
    assert.ok(history.bytes <= 10_000, `${history.bytes} bytes`);
    assert.ok(history.count >= 5 && history.count < 20, `${history.count} requests`);
    const huge = recorded({ path: `/${'x'.repeat(20_000)}` });
    history.record(huge);
    assert.deepEqual(history.list({}, 10), [huge], 'one is always kept');
    history.record(recorded());
    assert.equal(history.count, 1);
    assert.ok(history.bytes < 1_000);
  });

  test('keeps nothing when it is off, and still tells those who listen', () => {
    const history = new RequestHistory({ maxRequests: 0 });
    assert.equal(history.isWanted, false);
    const seen: string[] = [];
    const stop = history.subscribe(({ id }) => seen.push(id));
    assert.equal(history.isWanted, true);
    const request = recorded();
    history.record(request);
    stop();
    history.record(recorded());
    assert.deepEqual([seen, history.count, history.isWanted], [[request.id], 0, false]);
  });

  test('a listener that throws disturbs nobody', () => {
    const bugs: unknown[] = [];
    const stop = onBug(({ error }) => bugs.push(error));
    const history = new RequestHistory({ maxRequests: 10 });
    const seen: string[] = [];
    history.subscribe(() => {
      throw new Error('broken');
    });
    history.subscribe(({ id }) => seen.push(id));
    history.record(recorded());
    stop();
    assert.deepEqual([seen.length, history.count, bugs.length], [1, 1, 1]);
  });

  test('filters by host, status, user, route, time and id', () => {
    const history = new RequestHistory({ maxRequests: 10 });
    const early = recorded({ startedAtMs: 1_700_000_000_000, durationMs: 60_000, host: 'a.example', status: 404 });
    const middle = recorded({ startedAtMs: 1_700_000_030_000, durationMs: 5, status: 403, userId: 'au_1' });
    const late = recorded({ startedAtMs: 1_700_000_040_000, durationMs: 5, status: 502, routeId: 'edghtsrt_1' });
    // In the order in which they finished.
    for (const request of [middle, late, early]) history.record(request);
    assert.deepEqual(history.list({}, 10), [late, middle, early], 'newest first by start');
    assert.deepEqual(history.list({}, 2), [late, middle]);
    const cases = [
      [{ host: 'a.example' }, [early]],
      [{ status: '4xx' }, [middle, early]],
      [{ status: '404' }, [early]],
      [{ status: '5xx' }, [late]],
      [{ user: 'au_1' }, [middle]],
      [{ route: 'edghtsrt_1' }, [late]],
      [{ sinceMs: 1_700_000_040_006 }, [early]],
      [{ beforeId: late.id }, [middle, early]],
      [{ status: '4xx', host: 'b.example' }, []],
    ] as const;
    for (const [filter, wanted] of cases) assert.deepEqual(history.list(filter, 10), wanted, JSON.stringify(filter));
  });
});

test('a kept text is truncated, and a long one is copied', () => {
  assert.equal(keptText('short', 10, 10), 'short');
  assert.equal(keptText('a longer text', 5, 100), 'a longer text');
  assert.equal(keptText('a longer text', 5, 8), 'a longer…');
});
