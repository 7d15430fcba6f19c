import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { ask, PROTOCOLS } from './hooked-client.ts';
import { ModuleWays } from './module-ways.ts';

// The edge removes X-Forwarded-Prefix itself, unless the setting says otherwise.
const ways = await ModuleWays.open({ after }, { POSTERN_DROP_REQUEST_HEADERS: 'x-none' });
const [way = assert.fail()] = ways.ways;

const rule = (match_type: string, match: string, to: string) => ({ match_type, match, to });
const PREFIX = 'x-forwarded-prefix';

/** What the upstream gets, the same on these ways and with both protocols; or the status. */
async function rewritten(asked: string, headers: Record<string, string> = {}, on = ways.ways): Promise<string> {
  const seen = new Set<string>();
  for (const { edge, host } of on) {
    for (const protocol of PROTOCOLS) {
      ways.got = [];
      const { status } = await ask(edge, host, protocol, { path: asked, headers });
      const [got] = ways.got;
      seen.add(got === undefined ? String(status) : `${got.url} ${got.lines(PREFIX).join(', ')}`.trim());
    }
  }
  assert.equal(seen.size, 1, `${asked}: ${[...seen].join(', ')}`);
  return [...seen][0] ?? '';
}

suite('rewrite', () => {
  test('the upstream gets another path on every way; a change is effective immediately', async () => {
    await ways.put('rewrite', {
      rules: [
        rule('path_prefix', '/api/', '/'),
        rule('path_prefix', '/strip', '/'),
        rule('exact_path', '/a', '/b?c=1'),
        rule('regex', '^/v([0-9])/(.*)$', '/$2/v$1'),
        rule('path_prefix', '/long/', '/longer/'),
      ],
    });
    for (const [asked, expected] of [
      ['/api/users?x=1', '/users?x=1 /api'],
      ['/%61pi/us%2Fers', '/us%2Fers /%61pi'],
      ['/strip', '/ '],
      ['/strip/x/', '/x/ /strip'],
      ['/stripped', '/ped'],
      ['/a?kept=0', '/b?c=1'],
      ['/v2/x?q', '/x/v2?q'],
      ['/long/a%20b', '/longer/a%20b'],
      ['/other?x', '/other?x'],
    ] as const)
      assert.equal(await rewritten(asked), expected.trim(), asked);
    await ways.put('rewrite', { enabled: false, rules: [rule('path_prefix', '/api/', '/')] });
    assert.equal(await rewritten('/api/x'), '/api/x');
    await ways.put('rewrite', { rules: [rule('path_prefix', '/api/', '/v1/')] });
    assert.equal(await rewritten('/api/x'), '/v1/x');
    await ways.delete('rewrite');
    assert.equal(await rewritten('/api/x'), '/api/x');
  });

  test('a visitor cannot send the prefix, and request_headers can remove it', async () => {
    await ways.put('rewrite', { rules: [rule('path_prefix', '/api/', '/')] });
    assert.equal(await rewritten('/api/x', { [PREFIX]: '//evil' }), '/x /api');
    assert.equal(await rewritten('/other', { [PREFIX]: '//evil' }), '/other');
    await ways.put('request_headers', { remove: [PREFIX], add: { 'x-path': '$${}' } });
    assert.equal(await rewritten('/api/x', { [PREFIX]: '//evil' }), '/x');
    await ways.delete('request_headers');
  });

  test('a rewritten path is read like a received one', async () => {
    await ways.put('rewrite', {
      rules: [
        rule('regex', '^/go(.*)$', '/$1'),
        rule('regex', '^/dot/(.)/(.*)$', '/$1$1/$2'),
        rule('regex', '^/q/(.*)$', '/?q=$1'),
      ],
    });
    for (const [asked, expected] of [
      ['/go/evil', '400'],
      ['/go%2Fevil', '400'],
      ['/go;x', '400'],
      ['/goa/b', '/a/b'],
      ['/dot/x/y', '/xx/y'],
      ['/dot/%/y', '400'],
      ['/q/a&b#', '400'],
      ['/q/a&b', '/?q=a%26b'],
      [`/go${'a'.repeat(2_100)}`, '400'],
    ] as const)
      assert.equal(await rewritten(asked, {}, [way]), expected, asked);
    for (const to of ['https://other.example/', '/a#b', '//a', '/..', '/$1', 'a', '/a b', '/a\r\nx: y']) {
      const path = `${way.routePath}/rewrite`;
      const { status, body } = await ways.edge.world.api('PUT', path, { rules: [rule('exact_path', '/a', to)] });
      assert.deepEqual([status, body.details?.field], [400, '/rules/0/to'], to);
    }
  });

  test('an explanation shows the path, and the event and log keep the received one', async () => {
    await ways.put('rewrite', { rules: [rule('path_prefix', '/api/', '/')] });
    const explained = await ways.edge.api('POST', '/explain', { url: `https://${way.host}/api/x?y=1` });
    assert.equal(explained.upstream_request.target, '/x?y=1');
    assert.equal(explained.upstream_request.headers_added[PREFIX], '/api');
    const plain = await ways.edge.api('POST', '/explain', { url: `https://${way.host}/x` });
    assert.equal(plain.upstream_request.target, undefined);
    const { headers } = await ask(ways.edge, way.host, 'h2', { path: '/api/x' });
    const request = await ways.edge.api('GET', `/requests/${String(headers['postern-request-id'])}`);
    assert.equal(request.path, '/api/x');
  });
});

suite('a rewrite is no second door', () => {
  /** An edge whose `/admin` accepts nobody, and an open `/api` that is rewritten to `/`. */
  async function twoDoors(open: string, closed: string) {
    const { edge } = ways;
    const site = await edge.site(open);
    const routes = `${site.edgePath}/routes`;
    const { id } = await edge.api('POST', '/ip_policies', {});
    await edge.api('POST', '/ip_policy_rules', { ip_policy_id: id, action: 'allow', cidr: '192.0.2.1/32' });
    await edge.api('POST', routes, {
      ...{ match_type: 'path_prefix', match: '/admin', backend: { backend_id: closed } },
      ip_restriction: { ip_policy_ids: [id] },
    });
    await edge.api('POST', routes, {
      ...{ match_type: 'path_prefix', match: '/api', backend: { backend_id: open } },
      rewrite: { rules: [rule('path_prefix', '/api', '/')] },
    });
    return async (asked: string): Promise<unknown> => {
      const statuses = new Set<number>();
      for (const protocol of PROTOCOLS) statuses.add((await ask(edge, site.host, protocol, { path: asked })).status);
      const explained = await edge.api('POST', '/explain', { url: `https://${site.host}${asked}` });
      return [...statuses, explained.outcome.status ?? 200].join(' ');
    };
  }
  const service = () => ways.edge.staticBackend(ways.serviceAddress);

  test('to the same backend, in any spelling', async () => {
    const backend = await service();
    const status = await twoDoors(backend, backend);
    assert.equal(await status('/admin'), '403 403');
    for (const asked of [
      '/api/admin',
      '/api/ADMIN',
      '/api/admin/x?y',
      '/api/%61dmin',
      '/api/x/%252e%252e/admin',
      '/api/admin;x',
    ])
      assert.equal(await status(asked), '400 400', asked);
    for (const asked of ['/api/users', '/api/x/admin', '/api']) assert.equal(await status(asked), '200 200', asked);
  });

  test('to another backend with the same address, in a group, or with labels of the same tunnel', async () => {
    const [one, two] = [await service(), await service()];
    const weighted = (await ways.edge.api('POST', '/backends/weighted', { backends: { [two]: 1 } })).id as string;
    const group = async (labels: object) =>
      (await ways.edge.api('POST', '/backends/tunnel_group', { labels })).id as string;
    const tunnels = await group({ way: 'tunnel' });
    for (const [open, closed, expected] of [
      [one, two, '400 400'],
      [one, weighted, '400 400'],
      [tunnels, await group({ way: 'tunnel', zone: 'a' }), '400 400'],
      [tunnels, await group({ way: 'other' }), '200 200'],
      [one, await ways.edge.httpResponse('other'), '200 200'],
    ] as const)
      assert.equal(await (await twoDoors(open, closed))('/api/admin'), expected, `${open} ${closed}`);
  });
});

test('an agent asks for rewrites with lines', async () => {
  const addr = ways.serviceAddress;
  const open = (rules: string[]) => ways.world.agent([{ proto: 'https', addr, modules: { rewrite: { rules } } }]);
  const agent = await open(['path_prefix /api/ /', 'regex ^/(a,b)$ /found/$1']);
  const host = new URL(agent.publicUrl ?? '').hostname;
  ways.got = [];
  for (const asked of ['/api/x?y', '/a,b']) await ask(ways.edge, host, 'h2', { path: asked });
  assert.deepEqual(
    ways.got.map(({ url, headers }) => [url, headers[PREFIX]]),
    [
      ['/x?y', '/api'],
      ['/found/a,b', undefined],
    ],
  );
  for (const line of ['/old /new', 'exact_path /a //evil', 'exact_path /a /b 301', 'exact_path /a https://a.example/'])
    await assert.rejects(open([line]), /rewrite/, line);
});
