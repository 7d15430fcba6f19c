import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { recorded } from '../../../../test/support/recorded-request.ts';
import { onBug } from '../../../kit/guarded-listeners.ts';
import { keptText } from './recorded-request.ts';
import { RequestHistory } from './request-history.ts';

suite('request history', () => {
  test('keeps the newest requests, and finds them by id', () => {
    const history = new RequestHistory({ maxRequests: 3 });
    const requests = Array.from({ length: 5 }, () => recorded());
    for (const request of requests) history.record(request);
    assert.equal(history.count, 3);
    assert.deepEqual(history.list({}, 10), requests.slice(2).reverse());
    assert.deepEqual(history.find(requests[4]?.id ?? ''), requests[4]);
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

  test('counts every request, whether it is kept or not', () => {
    for (const maxRequests of [0, 10]) {
      const history = new RequestHistory({ maxRequests });
      const counted: number[] = [];
      history.tallyWith(({ status }) => counted.push(status));
      assert.equal(history.isWanted, maxRequests > 0, 'statistics need no description of requests');
      history.record(recorded({ status: 200 }));
      history.tally(recorded({ status: 404 }));
      assert.deepEqual([counted, history.count], [[200, 404], maxRequests > 0 ? 1 : 0]);
    }
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

  test('keeps the last 20 names that no site has beside the requests to sites, and counts none of them', () => {
    const history = new RequestHistory({ maxRequests: 3 });
    const counted: unknown[] = [];
    history.tallyWith((request) => counted.push(request));
    const seen: string[] = [];
    history.subscribe(({ id }) => seen.push(id));
    const served = [recorded(), recorded()];
    for (const request of served) history.record(request);
    const unknown = Array.from({ length: 50 }, (_, at) => recorded({ host: `scan-${at}.example` }));
    for (const request of unknown) history.recordUnknownName(request);
    assert.deepEqual(history.list({}, 100), [...unknown.slice(30).reverse(), ...served.toReversed()]);
    assert.deepEqual(history.list({}, 5), unknown.slice(45).reverse());
    assert.equal(history.find(unknown[49]?.id ?? '')?.host, 'scan-49.example');
    assert.deepEqual([history.count, counted.length, seen.length], [2, 2, 52]);
    const none = new RequestHistory({ maxRequests: 0 });
    none.recordUnknownName(recorded());
    assert.deepEqual(none.list({}, 10), []);
  });
});

suite('used slots', () => {
  const pass = { reason: 'allowed' };
  /** All fields differ from one to the next, so that a field of another request would show. */
  const different = (at: number) =>
    recorded({
      ...{ method: `M${at}`, host: `h${at}.example`, path: `/${at}`, query: at % 2 === 0 ? null : `q=${at}` },
      ...{ status: 200 + at, durationMs: at + 0.5, bytesIn: at, bytesOut: at * 2, clientAddress: `192.0.2.${at}` },
      ...{ errorCode: at % 3 === 0 ? null : `E${at}`, edgeId: `e${at}`, routeId: `r${at % 2}`, userId: `u${at}` },
      ...{ userKind: `k${at}`, headers: at % 4 === 0 ? [] : ['user-agent', `agent ${at % 5}`, 'referer', `${at}`] },
      ...{ passes: at % 3 === 0 ? [] : ['acl', pass, `m${at % 2}`, pass], waits: at % 5 === 0 ? [`w${at}`, at] : [] },
      ...{
        refusedBy: `x:${at}`,
        answeredBy: `y:${at}`,
        decidingRule: `rule ${at}`,
        target: `t${at}`,
        tunnelNode: `n${at}`,
      },
      ...{ admittedMs: at % 3 === 0 ? null : at / 4, answeredMs: at % 7 === 0 ? null : at / 2 },
    });

  test('never show a part of another request, from page to page', () => {
    const history = new RequestHistory({ maxRequests: 8 });
    const all = Array.from({ length: 100 }, (_, at) => different(at));
    let page: readonly { readonly id: string }[] = [];
    const shown: unknown[] = [];
    for (const [at, request] of all.entries()) {
      history.record(request);
      const beforeId = page.at(-1)?.id;
      // Between two pages, requests overwrite the rest of the page.
      if (at % 3 === 0) page = history.list(beforeId === undefined ? {} : { beforeId }, 4);
      shown.push(...page);
      assert.deepEqual(history.find(request.id), request);
      assert.deepEqual(history.list({}, 100), all.slice(Math.max(0, at - 7), at + 1).reverse());
    }
    assert.ok(shown.length > 100, `${shown.length} shown`);
    for (const each of shown)
      assert.deepEqual(
        each,
        all.find(({ id }) => id === (each as { id: string }).id),
      );
  });

  test('are freed with their texts where size is the limit', () => {
    const maxBytes = 100_000;
    const history = new RequestHistory({ maxRequests: 1_000, maxBytes });
    for (let at = 0; at < 300; at += 1) history.record(recorded());
    const small = history.count;
    for (let at = 0; at < 300; at += 1) history.record(recorded({ path: `/${'x'.repeat(1_000)}` }));
    assert.ok(history.bytes <= maxBytes && history.count < small / 2, `${history.count} of ${history.bytes} bytes`);
    const last = Array.from({ length: 300 }, (_, at) => different(at));
    for (const request of last) history.record(request);
    assert.deepEqual(history.list({}, 50), last.toReversed().slice(0, 50));
    assert.ok(history.count >= small - 20, 'as many as before fit again');
  });

  test('lists of many requests that are the same are one list', () => {
    const history = new RequestHistory({ maxRequests: 10 });
    for (let at = 0; at < 3; at += 1)
      history.record(recorded({ routeId: 'r', headers: ['user-agent', 'test/1'], passes: ['acl', pass] }));
    const [newest, , oldest] = history.list({}, 3);
    assert.equal(newest?.headers, oldest?.headers);
    assert.equal(newest?.passes, oldest?.passes);
  });

  test('the newest by start are found among many that finished in another order', () => {
    const history = new RequestHistory({ maxRequests: 50 });
    const started = Array.from({ length: 50 }, () => recorded());
    for (let at = 0; at < 50; at += 1) history.record(started[(at * 7) % 50] ?? recorded());
    assert.deepEqual(history.list({}, 9), started.toReversed().slice(0, 9));
    assert.deepEqual(history.list({ beforeId: started[41]?.id ?? '' }, 9), started.slice(32, 41).reverse());
  });
});

test('a kept text is truncated, and a long one is copied', () => {
  assert.equal(keptText('short', 10, 10), 'short');
  assert.equal(keptText('a longer text', 5, 100), 'a longer text');
  assert.equal(keptText('a longer text', 5, 8), 'a longer…');
});
