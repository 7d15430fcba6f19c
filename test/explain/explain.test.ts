import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { EdgeWorld, newHost, trustIn } from '../support/edge-world.ts';
import { makeBackends } from './agreement.ts';

const upstream = await recordingUpstream({ after });
upstream.answer = (_request, response) => response.end('hello');
const world = await EdgeWorld.open({ after });
const site = await world.site(await world.staticBackend(upstream.address));

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
function explain(url: string, question: object = {}): Promise<any> {
  return world.api('POST', '/explain', { url, ...question });
}

function verdicts({ decisions }: { decisions: { module: string; decision: string; reason: string }[] }) {
  return decisions.map(({ module, decision, reason }) => `${module} ${decision} ${reason}`);
}

suite('a request is explained', () => {
  test('with its route, the other routes, and what the upstream would get', async () => {
    const admin = await world.route(site.edgeId, '/admin');
    const exact = await world.route(site.edgeId, '/admin/x', 'exact_path');
    const explained = await explain(`https://${site.host}/cart?a=1`, {
      headers: { 'X-Forwarded-For': '10.0.0.1', Cookie: ['a=1', 'b=2'] },
      address: '192.0.2.7',
    });
    const base = world.world.baseUrl;
    assert.deepEqual(explained.edge, { id: site.edgeId, uri: `${base}${site.edgePath}` });
    assert.deepEqual(explained.route, { id: site.routeId, uri: `${base}${site.routePath}` });
    assert.deepEqual(
      explained.candidates.map(({ route, why_not: why }: { route: { uri: string }; why_not: string }) => [
        route.uri,
        why,
      ]),
      [
        [`${base}${exact}`, 'The path is not exactly "/admin/x".'],
        [`${base}${admin}`, 'The path does not start with "/admin".'],
      ],
    );
    assert.deepEqual(explained.outcome.targets, [{ name: upstream.address, kind: 'upstream' }]);
    assert.equal(explained.outcome.status, undefined);
    assert.deepEqual(explained.upstream_request.headers_added, {
      'x-forwarded-for': '192.0.2.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': site.host,
      'postern-request-id': `rq_${'0'.repeat(27)}`,
    });
    const longer = await explain(`https://${site.host}/admin/x`);
    assert.deepEqual(
      longer.candidates.map(({ why_not: why }: { why_not: string }) => why),
      [
        'It matches, but the exact path "/admin/x" takes precedence.',
        'It matches, but the exact path "/admin/x" takes precedence.',
      ],
    );
    await world.api('DELETE', admin);
    await world.api('DELETE', exact);
  });

  test('with the 502 that traffic gets, for an upstream that the edge may not connect to', async () => {
    const api = new URL(world.world.baseUrl).port;
    for (const address of ['169.254.169.254:80', `127.0.0.1:${api}`, `localhost:${api}`]) {
      const forbidden = await world.site(await world.staticBackend(address));
      const { outcome, decisions } = await explain(`https://${forbidden.host}/`);
      assert.deepEqual(
        [outcome.status, outcome.error_code, outcome.targets],
        [502, 'ERR_POSTERN_UPSTREAM_UNREACHABLE', []],
        address,
      );
      assert.equal(decisions.at(-1).reason, 'forbidden_address');
      const { status } = await world.ask(forbidden.host, '/');
      assert.equal(status, outcome.status);
    }
  });

  test('for a name with the dot of the root, which is the same name', async () => {
    const explained = await explain(`https://${site.host}.:443/cart`);
    assert.equal(explained.route.id, site.routeId);
    assert.equal(explained.upstream_request.headers_added['x-forwarded-host'], `${site.host}:443`);
    const elsewhere = await explain(`https://${site.host}/`, { headers: { host: `${site.host}.` } });
    assert.equal(elsewhere.route.id, site.routeId);
  });

  test('shows a host with two dots as it is, and not as a decoded token', async () => {
    const { id } = await world.api('POST', '/edges/https', { hostports: ['app2.example.test:443'] });
    const route = await world.route(id, '/');
    await world.api('PUT', `${route}/backend`, { backend_id: await world.staticBackend(upstream.address) });
    const { upstream_request: changed } = await explain('https://app2.example.test/');
    assert.equal(changed.headers_added['x-forwarded-host'], 'app2.example.test');
    await world.api('DELETE', `/edges/https/${id}`);
  });

  test('for hosts, paths and requests that the edge refuses', async () => {
    const cases = [
      ['https://unknown.example/', undefined, 'edge refuse unknown_host'],
      [`http://${newHost()}/`, 404, 'edge refuse nothing_here'],
      [`http://${site.host}/`, 308, 'edge answer redirect_to_https'],
      ['http://unknown.example/', 404, 'edge refuse no_route'],
      [`https://${site.host}/a/../b`, 400, 'edge refuse bad_path'],
      [`https://${site.host}/a//%2e%2e/b`, 400, 'edge refuse bad_path'],
      [`https://${site.host}/a//%252e%252e/b`, 400, 'edge refuse ambiguous_path'],
      [`https://${site.host}:99999/`, 400, 'edge refuse bad_http'],
    ] as const;
    for (const [url, status, said] of cases) {
      const explained = await explain(url);
      assert.deepEqual([explained.outcome.status, verdicts(explained)], [status, [said]], url);
      assert.deepEqual([explained.route, explained.upstream_request], [null, null]);
    }
    const other = await world.site();
    const misdirected = await explain(`https://${site.host}/`, { headers: { host: other.host } });
    assert.deepEqual([misdirected.outcome.status, verdicts(misdirected)], [421, ['edge refuse misdirected']]);
    const trace = await explain(`https://${site.host}/`, { method: 'TRACE' });
    assert.equal(trace.outcome.error_code, 'ERR_POSTERN_METHOD_REFUSED');
    const empty = await explain(`https://${other.host}/`);
    assert.deepEqual([empty.outcome.status, verdicts(empty)], [503, ['backend refuse no_backend']]);
    const fixed = await world.site(await world.httpResponse('x', { status_code: 418 }));
    const teapot = await explain(`https://${fixed.host}/`);
    assert.deepEqual([teapot.outcome.status, teapot.outcome.targets[0].kind], [418, 'response']);
  });

  test('with an Upgrade to another protocol, which the edge ignores', async () => {
    const length = { 'Content-Length': '5' };
    const ignored = [
      ['POST', { Upgrade: 'h2c', Connection: 'Upgrade' }],
      ['POST', { Upgrade: 'websocket', Connection: 'Upgrade' }],
      ['GET', { Upgrade: 'websocket' }],
    ] as const;
    for (const [method, headers] of ignored) {
      const sent = { method, headers: { ...headers, ...length }, body: 'hello' };
      assert.equal((await world.ask(site.host, '/', sent)).status, 200);
      const { outcome } = await explain(`https://${site.host}/`, { method, headers: { ...headers, ...length } });
      assert.deepEqual([outcome.error_code, outcome.targets.length], [undefined, 1], JSON.stringify(sent));
    }
    const headers = { Upgrade: 'WebSocket', Connection: 'keep-alive, Upgrade', ...length };
    const { outcome } = await explain(`https://${site.host}/`, { headers });
    assert.deepEqual([outcome.status, outcome.error_code], [400, 'ERR_POSTERN_BAD_HTTP']);
  });

  test('with every target that weights, failover and load could choose', async () => {
    const backends = await makeBackends(world, upstream.address);
    const named = async (backendId: string) => {
      const { outcome } = await explain(`https://${(await world.site(backendId)).host}/`);
      return outcome.targets.map(({ name, kind }: Record<string, string>) => `${kind} ${name}`).sort();
    };
    assert.deepEqual(await named(backends.weighted), ['response http_response', `upstream ${upstream.address}`]);
    assert.deepEqual(await named(backends.failover), [`upstream 127.0.0.1:1`, `upstream ${upstream.address}`].sort());
    const { id: group } = await world.api('POST', '/backends/tunnel_group', { labels: { app: 'none' } });
    const offline = await explain(`https://${(await world.site(group)).host}/`);
    assert.deepEqual([offline.outcome.status, offline.outcome.targets], [503, []]);
  });

  test('with the rule that refuses an address, and the modules behind it', async () => {
    const guarded = await world.site(await world.staticBackend(upstream.address));
    const { policyId } = await world.ipPolicy('allow', '192.0.2.0/24');
    await world.api('PUT', `${guarded.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    await world.api('PUT', `${guarded.routePath}/compression`, { enabled: true });
    const url = `https://${guarded.host}/`;
    const inside = await explain(url, { address: '192.0.2.7' });
    assert.deepEqual(verdicts(inside), [
      'ip_restriction pass address',
      'compression skipped does_not_decide',
      'backend skipped does_not_decide',
    ]);
    assert.equal(inside.decisions[0].rule, 'allow 192.0.2.0/24');
    const outside = await explain(url, { address: '198.51.100.1' });
    assert.equal(outside.decisions[0].decision, 'refuse');
    assert.equal(
      outside.decisions[0].text,
      `No rule lets in the address 198.51.100.1. Let in: 192.0.2.0/24. Change who may enter, or the IP policy ${policyId}.`,
    );
    const denied = await world.ipPolicy('deny', '192.0.2.7/32');
    await world.api('PUT', `${guarded.routePath}/ip_restriction`, { ip_policy_ids: [policyId, denied.policyId] });
    const byRule = await explain(url, { address: '192.0.2.7' });
    assert.equal(
      byRule.decisions[0].text,
      `A rule keeps out the address 192.0.2.7: deny 192.0.2.7/32. Change who may enter, or the IP policy ${denied.policyId}.`,
    );
    await world.api('PUT', `${guarded.routePath}/maintenance`, { allow_cidrs: ['203.0.113.7/32'] });
    const paused = await explain(url, { address: '192.0.2.9' });
    const pause = paused.decisions.find(({ module }: { module: string }) => module === 'maintenance');
    assert.match(
      pause.text,
      /^The site is paused\. It lets in 203\.0\.113\.7, and the client comes from 192\.0\.2\.9\. Open/,
    );
    assert.deepEqual(
      [outside.outcome.status, outside.outcome.error_code, outside.outcome.targets],
      [403, 'ERR_POSTERN_ADDRESS_NOT_ALLOWED', []],
    );
  });

  test('for a person who never logged in, with unsigned claims, and without a trace', async () => {
    const people = await world.site(await world.staticBackend(upstream.address));
    await world.api('PUT', `${people.routePath}/oidc`, {
      issuer: 'https://accounts.example.invalid',
      client_id: 'id',
      client_secret: 'secret',
    });
    await world.api('PUT', `${people.routePath}/access`, {
      allow: [{ claims: { groups: ['ops'] } }],
      deny: [{ emails: ['eve@example.com'] }],
    });
    const url = `https://${people.host}/`;
    const before = await world.metrics();
    const anonymous = await explain(url, { headers: { accept: 'text/html' } });
    assert.deepEqual(
      [anonymous.outcome.status, verdicts(anonymous).slice(0, 3)],
      [302, ['access pass nobody_recognized', 'oidc refuse no_session', 'access skipped not_reached']],
    );
    const ada = await explain(url, { as: { email: 'ada@example.com', claims: { groups: ['ops'] } } });
    assert.deepEqual(verdicts(ada).slice(0, 3), [
      'access pass nobody_recognized',
      'oidc pass logged_in',
      'access pass allowed',
    ]);
    const added = ada.upstream_request.headers_added;
    assert.equal(added['postern-auth-user-email'], 'ada@example.com');
    assert.match(added['postern-auth-assertion'], /^\(unsigned\) \{"iss":"https:\/\/.+"email":"ada@example.com"/);
    assert.doesNotMatch(JSON.stringify(ada), /eyJ[\w-]+\.[\w-]+\.[\w-]+/, 'no signed token');
    const eve = await explain(url, { as: { email: 'eve@example.com', claims: { groups: ['ops'] } } });
    const denied = eve.decisions.find(({ decision }: { decision: string }) => decision === 'refuse');
    assert.deepEqual([eve.outcome.status, denied.module, denied.rule], [403, 'access', 'deny[0]']);
    const nobody = await explain(url, { as: { email: 'bob@example.com' } });
    assert.equal(nobody.outcome.status, 403);
    const counted = (text: string): string =>
      text
        .split('\n')
        .filter((line) => /^postern_(access|login|edge)_\w+(_total|_count)/.test(line))
        .join('\n');
    assert.equal(counted(await world.metrics()), counted(before), 'no counter moves');
    assert.deepEqual((await world.api('GET', '/app/users')).application_users, []);
    assert.deepEqual((await world.api('GET', '/app/sessions')).application_sessions, []);
    assert.deepEqual((await world.api('GET', `/requests?host=${people.host}`)).requests, []);
    const unused = await explain(`https://${site.host}/`, { as: { email: 'ada@example.com' } });
    assert.ok(verdicts(unused).includes('edge skipped no_login'));
  });

  test('of a module that is enabled and cannot be applied', async () => {
    const broken = await world.site(await world.staticBackend(upstream.address));
    await world.api('PUT', `${broken.routePath}/oidc`, { issuer: '', client_id: '' });
    const explained = await explain(`https://${broken.host}/`);
    assert.deepEqual([explained.outcome.status, verdicts(explained)], [503, ['oidc refuse unprepared']]);
    const own = await explain(`https://${broken.host}/.postern/logout`);
    assert.ok(own.outcome.status === undefined || own.outcome.status >= 400);
  });

  test('and a wrong question is rejected', async () => {
    const [pem = ''] = trustIn(world.world.dataDir);
    // The object identifier of an elliptic curve key, with another last number.
    const unknownKey = new X509Certificate(pem).raw
      .toString('latin1')
      .replace('\x2a\x86\x48\xce\x3d\x02\x01', '\x2a\x86\x48\xce\x3d\x02\x7f');
    const base64 = Buffer.from(unknownKey, 'latin1').toString('base64').replace(/.{64}/g, '$&\n');
    const unknownPem = `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
    for (const body of [
      { url: 'https://example.com/', client_certificate_pem: pem.repeat(17) },
      { url: 'https://example.com/', client_certificate_pem: unknownPem },
      { url: 'ftp://example.com/' },
      { url: '/path' },
      { url: 'https://example.com/', address: 'somewhere' },
      { url: 'https://example.com/', method: 'get' },
      { url: 'https://example.com/', headers: { 'a b': 'c' } },
      { url: 'https://example.com/', headers: { a: 'c\nd' } },
      { url: 'https://example.com/', client_certificate_pem: 'none' },
      { url: 'https://example.com/', as: { claims: {} } },
      { method: 'GET' },
    ])
      assert.equal((await world.world.api('POST', '/explain', body)).status, 400, JSON.stringify(body));
  });
});
