import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { ask, PROTOCOLS } from './hooked-client.ts';
import { type ModuleWay, ModuleWays } from './module-ways.ts';

const HOUR = 3_600;
const ways = await ModuleWays.open({ after });
const [direct] = ways.ways as readonly [ModuleWay, ...ModuleWay[]];

/** What each way answers: two requests, one of each protocol. */
async function statuses(): Promise<readonly string[]> {
  const seen = new Set<string>();
  for (const { edge, host, name } of ways.ways) {
    const found: number[] = [];
    for (const protocol of PROTOCOLS) found.push((await ask(edge, host, protocol)).status);
    seen.add(found.join(' '));
    assert.ok(seen.size === 1, `${name}: ${[...seen].join(', ')}`);
  }
  return [...seen];
}

const limits = (limit: number, windowSeconds = HOUR) => ({ limits: [{ limit, window_seconds: windowSeconds }] });

suite('rate_limit on every way', () => {
  test('counts both protocols together, per node, and acts on changes at once', async () => {
    await ways.put('rate_limit', limits(2));
    assert.deepEqual(await statuses(), ['200 200']);
    assert.deepEqual(await statuses(), ['429 429']);
    // Neither the same configuration nor another limit in the same window resets who has used all of it.
    await ways.put('rate_limit', limits(2));
    await ways.put('rate_limit', limits(3));
    assert.deepEqual(await statuses(), ['429 429']);
    await ways.put('rate_limit', { ...limits(3), enabled: false });
    assert.deepEqual(await statuses(), ['200 200']);
    await ways.put('rate_limit', limits(3));
    assert.deepEqual(await statuses(), ['429 429']);
    await ways.delete('rate_limit');
    assert.deepEqual(await statuses(), ['200 200']);
    await ways.put('rate_limit', limits(2));
    assert.deepEqual(await statuses(), ['429 429'], 'somebody who set it again has not forgiven anybody');
    await ways.put('rate_limit', limits(1, HOUR - 1));
    assert.deepEqual(await statuses(), ['200 429'], 'another window starts at zero');
    await ways.delete('rate_limit');
  });
});

suite('rate_limit', () => {
  const { edge } = ways;

  async function site(body: object): Promise<{ readonly host: string; readonly routePath: string }> {
    const { host, routePath } = await edge.site(await edge.httpResponse('ok'));
    await edge.api('PUT', `${routePath}/rate_limit`, body);
    return { host, routePath };
  }

  test('says when to come back, in the fields of the draft', async () => {
    const second = { limit: 1, window_seconds: HOUR, key: 'route' };
    const { host } = await site({ limits: [{ limit: 100, window_seconds: 60, burst: 7 }, second] });
    assert.equal((await edge.ask(host)).status, 200);
    const refused = await edge.ask(host);
    assert.equal(refused.status, 429);
    const { headers } = refused;
    const seconds = Number(headers['retry-after']);
    assert.ok(seconds > HOUR - 300 && seconds <= HOUR, String(seconds));
    assert.equal(headers['ratelimit-policy'], '"limits[0]";q=100;w=60, "limits[1]";q=1;w=3600');
    assert.equal(headers['ratelimit'], `"limits[1]";r=0;t=${seconds}`);
    assert.equal(headers['postern-error-code'], 'ERR_POSTERN_TOO_MANY_REQUESTS');
    assert.match(String(headers['cache-control']), /no-store/);
    const { limit, key } = JSON.parse(refused.text).details;
    assert.deepEqual([limit, key], ['limits[1]', 'route']);
  });

  test('counts by header, and by address without it; a header cannot pretend to be an address', async () => {
    const key = 'header:X-Api-Key';
    const { host, routePath } = await site({ limits: [{ limit: 1, window_seconds: HOUR, key }] });
    assert.equal((await edge.api('GET', `${routePath}/rate_limit`)).limits[0].key, 'header:x-api-key');
    const statusOf = (value: string | null): Promise<number> =>
      edge.status(host, '/', { headers: value === null ? {} : { 'x-api-key': value } });
    const asked = ['a', 'b', '127.0.0.1', null, 'a', '', 'b', 'c', 'x'.repeat(1_025), `${'x'.repeat(1_024)}y`];
    const found: number[] = [];
    for (const value of asked) found.push(await statusOf(value));
    assert.deepEqual(found, [200, 200, 200, 200, 429, 429, 429, 200, 200, 429]);
  });

  test('a request that one limit refuses uses none of the others', async () => {
    const perRoute = { limit: 3, window_seconds: HOUR, key: 'route' };
    const perKey = { limit: 1, window_seconds: HOUR, key: 'header:x-key' };
    const { host } = await site({ limits: [perRoute, perKey] });
    const found: number[] = [];
    for (const key of ['a', 'a', 'a', 'a', 'b', 'c', 'd'])
      found.push(await edge.status(host, '/', { headers: { 'x-key': key } }));
    assert.deepEqual(found, [200, 429, 429, 429, 200, 200, 429]);
  });

  test('a rehearsal counts, lets everything pass, and tells log, history and metrics', async () => {
    const { host, routePath } = await site({ ...limits(1), enforce: false });
    const counted = async (outcome: string): Promise<number> => {
      const line = new RegExp(`^postern_rate_limit_exceeded_total\\{outcome="${outcome}"\\} (\\d+)`, 'm');
      return Number(line.exec(await edge.metrics())?.[1] ?? 0);
    };
    const before = await counted('would_refuse');
    assert.deepEqual([await edge.status(host), await edge.status(host)], [200, 200]);
    assert.equal(await counted('would_refuse'), before + 1);
    const lines = edge.world.logLines.filter((line) => line.includes(host) && line.includes('would_refuse_by'));
    assert.equal(lines.length, 1);
    assert.equal(JSON.parse(lines[0] as string).would_refuse_by, 'rate_limit:limits[0]');
    assert.equal(JSON.parse(lines[0] as string).access, undefined, 'no access rule decided');
    await edge.api('PUT', `${routePath}/rate_limit`, limits(1));
    const refusals = await counted('refused');
    assert.equal(await edge.status(host), 429, 'the rehearsal has counted');
    assert.equal(await counted('refused'), refusals + 1);
  });

  test('stands before logins, and never before paths of Postern itself', async () => {
    const { host, routePath } = await site(limits(2));
    await edge.api('PUT', `${routePath}/access`, { allow: [{ guests: true }] });
    assert.deepEqual([await edge.status(host), await edge.status(host), await edge.status(host)], [403, 403, 429]);
    for (let at = 0; at < 5; at += 1) assert.notEqual(await edge.status(host, '/.postern/guest'), 429);
  });

  test('refuses what is no limit, with its place', async () => {
    const { routePath } = await edge.site(await edge.httpResponse('ok'));
    const one = { limit: 1, window_seconds: 1 };
    for (const [body, field] of [
      [{}, '/limits'],
      [{ limits: Array.from({ length: 6 }, (_, at) => ({ ...one, window_seconds: at + 1 })) }, '/limits'],
      [{ limits: [{ window_seconds: 1 }] }, '/limits/0/limit'],
      [{ limits: [{ ...one, limit: 0 }] }, '/limits/0/limit'],
      [{ limits: [one, { ...one, window_seconds: 86_401 }] }, '/limits/1/window_seconds'],
      [{ limits: [{ ...one, burst: -1 }] }, '/limits/0/burst'],
      [{ limits: [{ ...one, key: 'header:' }] }, '/limits/0/key'],
      [{ limits: [{ ...one, key: 'header:a b' }] }, '/limits/0/key'],
      [{ limits: [{ ...one, key: 'Address' }] }, '/limits/0/key'],
      [{ limits: [one, { ...one, limit: 5 }] }, '/limits/1'],
      [{ limits: [{ ...one, per: 'x' }] }, '/limits/0/per'],
    ] as const) {
      const { status, body: said } = await edge.world.api('PUT', `${routePath}/rate_limit`, body);
      assert.deepEqual([status, said.details?.field], [400, field], JSON.stringify(body));
    }
    const off = await edge.api('PUT', `${routePath}/rate_limit`, { enabled: false });
    assert.deepEqual(off, { enabled: false, enforce: true, limits: [] });
    const full = await edge.api('PUT', `${routePath}/rate_limit`, { limits: [{ ...one, key: '' }] });
    assert.deepEqual(full.limits, [{ limit: 1, window_seconds: 1, burst: 0, key: 'address' }]);
  });

  test('an explanation agrees with the request that follows, and uses nothing', async () => {
    const keys = ['address', 'route', 'header:x-key'];
    for (let round = 0; round < 4; round += 1) {
      const count = 1 + Math.floor(Math.random() * 3);
      const chosen = Array.from({ length: count }, (_, at) => ({
        limit: 1 + Math.floor(Math.random() * 6),
        window_seconds: HOUR + at,
        burst: Math.floor(Math.random() * 5),
        key: keys[Math.floor(Math.random() * keys.length)],
      }));
      const { host } = await site({ limits: chosen });
      for (let request = 0; request < 12; request += 1) {
        const headers = { 'x-key': String(Math.floor(Math.random() * 3)) };
        const question = { url: `https://${host}/`, headers };
        for (let times = 0; times < 3; times += 1) await edge.api('POST', '/explain', question);
        const { decisions, outcome } = await edge.api('POST', '/explain', question);
        const { status } = await edge.ask(host, '/', { headers });
        const told = JSON.stringify([chosen, decisions]);
        assert.equal(outcome.status === 429, status === 429, told);
        const said = decisions.find(({ module }: { module: string }) => module === 'rate_limit');
        assert.equal(said.decision, status === 429 ? 'refuse' : 'pass', told);
        assert.match(status === 429 ? said.rule : said.text, /limits\[0\]|limits\[1\]|limits\[2\]/);
      }
    }
  });

  test('an agent asks for it', async () => {
    const modules = (...texts: string[]) => ({ rate_limit: { limits: texts } });
    const addr = ways.serviceAddress;
    const asked = modules('2/1h by header:X-Key', '5/1h burst 3 by route');
    const agent = await ways.world.agent([{ proto: 'https', addr, modules: asked }]);
    const host = new URL(agent.publicUrl ?? '').hostname;
    const found: number[] = [];
    for (const key of ['a', 'a', 'a', 'b', 'c']) {
      const { status } = await ask(edge, host, 'h2', { headers: { 'x-key': key } });
      found.push(status);
    }
    assert.deepEqual(found, [200, 200, 429, 200, 429]);
    for (const texts of [[], ['100'], ['1/1d'], ['0/1s'], ['1/25h'], ['1/1s by nobody'], ['1/1s', '2/1s']]) {
      const wrong = ways.world.agent([{ proto: 'https', addr, modules: modules(...texts) }]);
      await assert.rejects(wrong, /rate_limit/, texts.join());
    }
    assert.equal((await ask(direct.edge, direct.host, 'h2')).status, 200);
  });
});
