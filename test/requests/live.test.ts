import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeKey } from '../security/keys.ts';
import { ConsoleBrowser } from '../support/console-browser.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { LiveView } from '../support/live-view.ts';
import { recorded } from '../support/recorded-request.ts';
import { eventually } from '../tunnel/support/fault-world.ts';

const edges = await EdgeWorld.open({ after });
const { world } = edges;
const { history } = world.server;
const site = await edges.site(await edges.httpResponse('hello'));

suite('GET /live', () => {
  test('sends each request as GET /requests shows it, and the state at once', async (t) => {
    const view = await LiveView.open(world);
    t.after(() => view.close());
    assert.equal(view.response.headers['content-type'], 'application/x-ndjson; charset=utf-8');
    const { headers } = await edges.ask(site.host, '/cart?x=1');
    await eventually('all topics', () =>
      ['overview', 'tunnels', 'requests', 'ping'].every((each) => view.with(each).length > 0),
    );
    const { data } = view.with('requests')[0] ?? assert.fail();
    assert.deepEqual(data, await edges.api('GET', `/requests/${String(headers['postern-request-id'])}`));
    const overview = view.with('overview')[0]?.data;
    assert.deepEqual([overview.edges, overview.agents, overview.asked_nodes.length], [1, 0, 1]);
    assert.equal(overview.nodes[0].status, 'ready');
    assert.deepEqual(overview.problems, []);
  });

  test('sends only the topics and requests that are wanted', async (t) => {
    const view = await LiveView.open(world, 'topics=requests&status=4xx&host=A.example&user=au_1');
    t.after(() => view.close());
    for (const [host, status, userId] of [
      ['a.example', 200, 'au_1'],
      ['b.example', 404, 'au_1'],
      ['a.example', 404, 'au_2'],
      ['a.example', 404, 'au_1'],
    ] as const) {
      history.record(recorded({ host, status, userId }));
    }
    await eventually('the request', () => view.with('requests').length > 0);
    const { host, status, user } = view.with('requests')[0]?.data ?? {};
    assert.deepEqual([host, status, user, view.with('requests').length], ['a.example', 404, 'au_1', 1]);
    assert.deepEqual([view.with('overview'), view.with('tunnels')], [[], []]);
  });

  test('a line is one line, whatever a stranger sent', async (t) => {
    const view = await LiveView.open(world, 'topics=requests');
    t.after(() => view.close());
    const path = '/"}\n{"topic":"overview"}\u2028<script>alert(1)</script>\r\n\u0000';
    history.record(recorded({ path }));
    await eventually('the request', () => view.with('requests').length > 0);
    assert.equal(view.with('requests')[0]?.data.path, path);
    assert.equal(view.with('overview').length, 0);
  });

  test('a flood is summed up instead of buffered', async (t) => {
    const view = await LiveView.open(world, 'topics=requests');
    t.after(() => view.close());
    for (let count = 0; count < 1000; count += 1) history.record(recorded({}));
    await eventually('the summary', () => view.with('missed').length > 0);
    assert.ok(view.with('requests').length <= 400);
    const missed = view.with('missed').reduce((sum, { data }) => sum + data.requests, 0);
    assert.equal(missed + view.with('requests').length, 1000);
  });

  test('a reader that stops reading misses requests instead of having them buffered, and hears how many', async (t) => {
    const view = await LiveView.open(world, 'topics=requests');
    t.after(() => view.close());
    view.response.pause();
    const heavy = recorded({ path: `/${'x'.repeat(60_000)}` });
    for (let count = 0; count < 100; count += 1) history.record(heavy);
    view.response.resume();
    await eventually('the summary', () => view.with('missed').length > 0);
    assert.ok(view.with('requests').length < 20, 'the first one filled the buffer of the response');
  });

  test('ends with its session or key, and with the scopes that it needs', async () => {
    const key = await makeKey(world, ['requests:read', 'series:read']);
    const bearer = { authorization: `Bearer ${key.token}` };
    const browser = await ConsoleBrowser.logIn(world.baseUrl);
    const views = [
      await LiveView.open(world, 'topics=requests', bearer),
      await LiveView.open(world, 'topics=requests', { cookie: browser.cookie, 'postern-console-token': browser.token }),
    ];
    assert.deepEqual(
      views.map(({ response }) => response.statusCode),
      [200, 200],
    );
    await edges.api('PATCH', `/api_keys/${key.id}`, { scopes: ['edges:read'] });
    await browser.send('DELETE', '/console/session');
    await eventually('both have ended', () => views.every(({ isEnded }) => isEnded));
    // A browser reports an error for a response that is cut.
    assert.deepEqual(
      views.map(({ response }) => response.complete),
      [true, true],
    );
  });

  test('a key has a limit, and loses all of its views at once, also those that it never reads', async (t) => {
    const scopes = ['tunnels:read', 'requests:read'];
    const [key, other] = [await makeKey(world, scopes), await makeKey(world, scopes)];
    const open = ({ token }: { readonly token: string }, topic = 'tunnels'): Promise<LiveView> =>
      LiveView.open(world, `topics=${topic}`, { authorization: `Bearer ${token}` });
    const statusFor = async (who: { readonly token: string }): Promise<number | undefined> => {
      const view = await open(who);
      view.close();
      return view.response.statusCode;
    };
    const views = [await open(key, 'requests')];
    for (let count = 1; count < 20; count += 1) views.push(await open(key));
    t.after(() => {
      for (const view of views) view.close();
    });
    assert.ok(views.every(({ response }) => response.pause().statusCode === 200));
    assert.deepEqual([await statusFor(key), await statusFor(other)], [429, 200]);
    // More than the buffers of the system hold: an orderly end would wait behind it.
    const heavy = recorded({ path: `/${'x'.repeat(2_000_000)}` });
    for (let count = 0; count < 20; count += 1) {
      history.record(heavy);
      await sleep(5);
    }
    await edges.api('PATCH', `/api_keys/${key.id}`, { scopes: ['edges:read'] });
    await eventually('the connections are closed', () => {
      // A connection that is not read notices it when it writes.
      for (const { response } of views) response.socket.write('\r\n');
      return views.every(({ response }) => response.socket.destroyed);
    });
    assert.equal(views[0]?.response.complete, false, 'the one that was behind is cut');
    await edges.api('PATCH', `/api_keys/${key.id}`, { scopes });
    assert.equal(await statusFor(key), 200);
  });

  const REFUSALS: readonly (readonly [string, string, number])[] = [
    ['an unknown topic', 'topics=secrets', 400],
    ['an unknown filter', 'path=/', 400],
    ['a status of another form', 'status=teapot', 400],
    ['a topic beyond the scopes', 'topics=overview,requests', 403],
  ];
  for (const [what, query, status] of REFUSALS) {
    test(`rejects ${what}`, async () => {
      const { token } = await makeKey(world, ['requests:read']);
      const answer = await world.api('GET', `/live?${query}`, undefined, { key: token });
      assert.equal(answer.status, status, answer.text);
    });
  }

  test('rejects strangers, and cookies without their token', async () => {
    const browser = await ConsoleBrowser.logIn(world.baseUrl);
    assert.equal((await browser.send('GET', '/live', { headers: { 'postern-console-token': '' } })).status, 401);
    assert.equal((await browser.send('GET', '/live', { headers: { cookie: '' } })).status, 401);
  });
});

suite('GET /series', () => {
  test('counts requests, errors and bytes, in all and for each route', async () => {
    const ids = { edgeId: site.edgeId, routeId: site.routeId };
    const start = await total('');
    for (const status of [200, 404, 500, 503]) history.record(recorded({ ...ids, status, bytesIn: 10, bytesOut: 100 }));
    const [all, route] = [await total(''), await total(`&route=${site.routeId}`)];
    assert.deepEqual([all.requests - start.requests, all.errors - start.errors], [4, 2]);
    assert.ok(route.requests >= 4 && route.requests < all.requests);
    const { routes, nodes } = await edges.api('GET', '/series/routes');
    assert.equal(routes[0].route.id, site.routeId);
    assert.deepEqual([routes[0].edge.id, nodes.length, nodes[0].answered], [site.edgeId, 1, true]);
    assert.equal((await total('&route=edghtsrt_2zzzzzzzzzzzzzzzzzzzzzzzzzz')).requests, 0);
  });

  test('has steps of ten seconds for an hour, and of a minute for a day', async () => {
    const [short, long] = [await edges.api('GET', '/series'), await edges.api('GET', '/series?step=60')];
    assert.deepEqual([short.step, short.points.length, long.step, long.points.length], [10, 360, 60, 1440]);
    assert.equal(short.points.at(-2).p95_ms === null, short.points.at(-2).requests === 0);
    for (const query of ['step=5', 'from=yesterday', 'route=x y', 'to=2026-01-01T00:00:00Z']) {
      assert.equal((await world.api('GET', `/series?${query}`)).status, 400, query);
    }
  });

  async function total(query: string): Promise<{ requests: number; errors: number }> {
    const { points } = await edges.api('GET', `/series?step=60${query}`);
    const sum = (name: string): number =>
      points.reduce((all: number, point: Record<string, number>) => all + (point[name] ?? 0), 0);
    return { requests: sum('requests'), errors: sum('errors') };
  }
});

suite('GET /settings', () => {
  test('shows the settings in effect with their origin, and no secret', async () => {
    const { settings } = await edges.api('GET', '/settings');
    const named = (name: string) => settings.find((setting: { name: string }) => setting.name === name);
    assert.deepEqual(
      [named('roles').value, named('roles').source, named('region').source],
      [['api', 'edge'], 'variable POSTERN_ROLES', 'default'],
    );
    assert.deepEqual([named('api_key').value, named('api_key').secret], ['********', true]);
    assert.deepEqual([named('database_url').value, named('database_url').secret], [null, true]);
    assert.doesNotMatch(JSON.stringify(settings), /test-api-key/);
    const { token } = await makeKey(world, ['edges:read']);
    assert.equal((await world.api('GET', '/settings', undefined, { key: token })).status, 403);
  });
});

test('a server that stops ends its live views', async (t) => {
  const other = await EdgeWorld.open(t, { POSTERN_SHUTDOWN_TIMEOUT: '60' });
  const view = await LiveView.open(other.world);
  await other.world.close();
  assert.equal(view.isEnded, true);
});
