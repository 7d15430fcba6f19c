import assert from 'node:assert/strict';
import { request as requestHttp } from 'node:http';
import { type IncomingHttpHeaders, sensitiveHeaders } from 'node:http2';
import { after, suite, test } from 'node:test';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../support/edge-world.ts';

const upstream = await recordingUpstream({ after });
upstream.answer = (_request, response) => response.end('hello');
const world = await EdgeWorld.open(
  { after },
  { POSTERN_REQUEST_HISTORY: '50', POSTERN_REQUEST_HISTORY_HEADERS: 'user-agent,x-team' },
);
const site = await world.site(await world.staticBackend(upstream.address));

function idOf({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): string {
  const id = headers['postern-request-id'];
  assert.match(String(id), /^rq_[0-9A-Za-z]{27}$/);
  return String(id);
}

suite('a request that was served', () => {
  test('is found by the id in its response', async () => {
    const answer = await world.ask(site.host, '/cart?token=hidden', {
      headers: { 'user-agent': 'curl/9', 'x-team': 'web', authorization: 'Bearer hidden', cookie: 'a=hidden' },
    });
    assert.equal(answer.text, 'hello');
    const shown = await world.api('GET', `/requests/${idOf(answer)}`);
    const { at, node, duration_ms: duration, timings, ...rest } = shown;
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000);
    assert.equal(node, (await world.api('GET', '/nodes')).nodes[0].name);
    assert.ok(timings.admitted_ms <= timings.answered_ms && timings.answered_ms <= timings.finished_ms);
    assert.equal(timings.finished_ms, duration);
    const base = world.world.baseUrl;
    assert.deepEqual(rest, {
      id: idOf(answer),
      method: 'GET',
      host: site.host,
      path: '/cart',
      status: 200,
      edge: { id: site.edgeId, uri: `${base}${site.edgePath}` },
      route: { id: site.routeId, uri: `${base}${site.routePath}` },
      client_address: '127.0.0.1',
      user_agent: 'curl/9',
      headers: { 'x-team': 'web' },
      bytes_in: 0,
      bytes_out: 5,
      decisions: [],
      target: upstream.address,
    });
    assert.doesNotMatch(JSON.stringify(shown), /hidden/);
  });

  test('has the decision of each module, and the rule that decided', async () => {
    const { policyId } = await world.ipPolicy('deny', '127.0.0.1/32');
    const guarded = await world.site(await world.httpResponse('never'));
    await world.api('PUT', `${guarded.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    const refused = await world.ask(guarded.host);
    assert.equal(refused.status, 403);
    const shown = await world.api('GET', `/requests/${idOf(refused)}`);
    assert.deepEqual(
      [shown.status, shown.error_code, shown.refused_by, shown.decisions],
      [
        403,
        'ERR_POSTERN_ADDRESS_NOT_ALLOWED',
        'ip_restriction:address',
        [{ module: 'ip_restriction', decision: 'refuse', reason: 'address', rule: 'deny 127.0.0.1/32' }],
      ],
    );
    assert.equal(shown.timings.admitted_ms, null);
    const { policyId: allowing } = await world.ipPolicy('allow', '127.0.0.0/8');
    await world.api('PUT', `${guarded.routePath}/ip_restriction`, { ip_policy_ids: [allowing] });
    const passed = await world.api('GET', `/requests/${idOf(await world.ask(guarded.host))}`);
    assert.equal(passed.decisions.length, 1);
    assert.equal(passed.decisions[0].decision, 'pass');
    assert.equal(passed.decisions[0].rule, 'allow 127.0.0.0/8');
  });

  test('is listed, newest first, by host, status and time, page by page', async () => {
    const other = await world.site();
    const since = new Date().toISOString();
    for (let count = 0; count < 3; count += 1) assert.equal(await world.status(other.host, `/${count}`), 503);
    const list = async (query: string) => world.api('GET', `/requests?host=${other.host}${query}`);
    const paths = ({ requests }: { requests: { path: string }[] }) => requests.map(({ path }) => path);
    const all = await list('');
    assert.deepEqual(paths(all), ['/2', '/1', '/0']);
    assert.deepEqual(
      all.nodes.map(({ answered }: { answered: boolean }) => answered),
      [true],
    );
    assert.deepEqual(paths(await list(`&status=5xx&since=${since}`)), ['/2', '/1', '/0']);
    assert.deepEqual(paths(await list('&status=200')), []);
    assert.deepEqual(paths(await list('&since=2999-01-01T00:00:00Z')), []);
    assert.deepEqual(paths(await list('&user=au_none')), []);
    const first = await list('&limit=2');
    assert.deepEqual(paths(first), ['/2', '/1']);
    const second = await world.api('GET', String(first.next_page_uri).slice(world.world.baseUrl.length));
    assert.deepEqual([paths(second), second.next_page_uri], [['/0'], null]);
    for (const query of ['&status=abc', '&status=4x', '&since=yesterday', '&limit=0', '&color=red'])
      assert.equal((await world.world.api('GET', `/requests?host=x${query}`)).status, 400, query);
  });

  test('is not found once it is too old', async () => {
    const old = idOf(await world.ask(site.host));
    for (let count = 0; count < 50; count += 1) await world.ask(site.host);
    const answer = await world.world.api('GET', `/requests/${old}`);
    assert.equal(answer.status, 404);
    assert.match(answer.body.msg, /too old/);
  });
});

suite('every response has its id', () => {
  test('over HTTP/2, of a fixed response, of an unparsable request and of a redirect', async () => {
    const fixed = await world.site(await world.httpResponse('fixed'));
    idOf(await world.ask(fixed.host));
    const session = await world.http2(site.host);
    for (const [path, status] of [
      ['/', 200],
      ['/a/../b', 400],
    ] as const) {
      const stream = session.request({ ':path': path, ':authority': site.host });
      const headers = await new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
      stream.resume();
      idOf({ headers });
      assert.equal(Number(headers[':status']), status);
      // Ids would push the headers that repeat out of the connection's table.
      assert.deepEqual(Reflect.get(headers, sensitiveHeaders), ['postern-request-id']);
    }
    session.close();
    const malformed = await world.ask(site.host, '/a/%2e%2e/b');
    assert.equal(malformed.status, 400);
    const shown = await world.api('GET', `/requests/${idOf(malformed)}`);
    assert.deepEqual([shown.method, shown.path, shown.decisions[0].module], [null, null, 'edge']);
    const port = world.world.server.addresses.edgeHttp?.port ?? 0;
    const redirected = await new Promise<Record<string, unknown>>((resolve, reject) => {
      const visit = { host: '127.0.0.1', port, path: '/old?token=hidden' };
      requestHttp({ ...visit, headers: { host: site.host, 'user-agent': 'curl/9' } }, (response) => {
        response.resume();
        resolve(response.headers);
      })
        .once('error', reject)
        .end();
    });
    const { edge, ...found } = await world.api('GET', `/requests/${idOf({ headers: redirected })}`);
    assert.deepEqual(
      [found.method, found.host, found.path, found.status, found.user_agent, edge.id, found.client_address],
      ['GET', site.host, '/old', 308, 'curl/9', site.edgeId, '127.0.0.1'],
    );
    assert.deepEqual(found.decisions, [{ module: 'edge', decision: 'answer', reason: 'redirect_to_https' }]);
    assert.doesNotMatch(JSON.stringify(found), /hidden/);
  });

  test('unless the settings turn it off for forwarded ones and keep no history', async (t) => {
    const quiet = await EdgeWorld.open(t, { POSTERN_REQUEST_HISTORY: '0', POSTERN_REQUEST_ID_HEADER: 'false' });
    const forwarded = await quiet.site(await quiet.staticBackend(upstream.address));
    const answer = await quiet.ask(forwarded.host);
    assert.deepEqual([answer.status, answer.headers['postern-request-id']], [200, undefined]);
    assert.deepEqual((await quiet.api('GET', '/requests')).requests, []);
    const own = await quiet.ask((await quiet.site()).host);
    assert.equal((await quiet.world.api('GET', `/requests/${idOf(own)}`)).status, 404);
  });
});
