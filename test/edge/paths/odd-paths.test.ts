import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { after, suite, test } from 'node:test';
import { newHost } from '../../support/edge-world.ts';
import { type ModuleWay, ModuleWays } from '../modules/module-ways.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';

const ways = await ModuleWays.open({ after });
const { edge } = ways;
const [way = assert.fail()] = ways.ways;

/** URLs as applications and their clients write them. */
const URLS: Readonly<Record<string, readonly string[]>> = {
  'RabbitMQ, whose vhost is /': ['/api/queues/%2F/orders', '/api/exchanges/%2f/amq.default/publish', '/api/vhosts/%2F'],
  'Prometheus Pushgateway': [
    '/metrics/job/%2Fvar%2Ftmp/instance/a',
    '/metrics/job@base64/L3Zhci90bXA=/instance@base64/=',
    '/metrics/job/x/path/',
  ],
  'S3 keys': [
    '/bucket/a//b',
    '/bucket//a',
    '/bucket/a/',
    '/bucket/a%2F%2Fb',
    '/bucket/./a',
    '/bucket/a/.',
    '/bucket/x//',
  ],
  imgproxy: ['/insecure/rs:fit:300:200/plain/http://images.example/a.jpg@png', '/sig/plain/s3://bucket/a%20b.jpg'],
  'web archives': ['/web/2020/https://example.com/', '/web/20200101000000id_/http://example.com/a//b?x=//y'],
  'URLs as segments': ['/proxy/https%3A%2F%2Fexample.com%2Fa', '/go/https%3A%2F%2Fexample.com%2F%2Fa?b=c'],
  'matrix parameters': ['/app/page;jsessionid=1A2B3C', '/maps;v=2/tile;x=1;y=2', '/a/;x=1/b', '/;jsessionid=1/login'],
  'WebDAV with the names that rclone encodes': [
    ...['%5C', '%0A', '%0D', '%09', '%7F', '%01', '%1F', '%20', '%22', '%23', '%24', '%25', '%27', '%2A', '%3A'],
    ...['%3B', '%3C', '%3E', '%3F', '%60', '%7C', '%7E', '%BF', '%FE', '%E2%90%80', '%EF%BC%8F', '.', '%20.', '%2F'],
  ].map((character) => `/dav/folder/a${character}b`),
  'names that start or end oddly': [
    '/dav/%20a',
    '/dav/a%20',
    '/dav/a.',
    '/dav/~a',
    '/dav/%09a',
    '/dav/%0Aa%0D',
    '/dav/-',
    '/dav/%25%32%45',
  ],
  'empty segments and dots at the ends': [
    '//',
    '///',
    '/a//',
    '/./',
    '/.',
    '//a',
    '/a/./b',
    '/%2F',
    '/%5C',
    '/%2e/a',
    '/.;x/a',
  ],
};

/** Refused everywhere. */
const REFUSED = [
  ...['/a/../b', '/..', '/a/..', '/a/%2e%2e/b', '/a/.%2E/b', '/a%2F..%2Fb', '/a%5C..%5Cb', '/..;x/a', '/a/..%3Bx/b'],
  ...['/a%00', '/a%00b//', '/a%', '/a%zz', '/a\\b', '/..%09/a', '/a/..%0A/b', '//%252e%252e/a', '//a/%252e%252e%252fb'],
  ...['//.postern/login', '/.postern//login', '/.postern%2Flogin//', '//x/.postern/callback', '/./.postern/login'],
  ...['/%5C.postern/login', '/.postern;x//login', '//%2e%70ostern/login', '//.POSTERN/login', '/x//.postern/..%2f..'],
  ...[
    '//.well-known/acme-challenge/x',
    '/.well-known//acme-challenge/x',
    `/${'a//'.repeat(3000)}`,
    `//${'%EF%BD%81'.repeat(1000)}`,
    `/${'a//b%25'.repeat(9)}`,
  ],
];

const sessions = new Map<ModuleWay, ClientHttp2Session>();
after(() => {
  for (const session of sessions.values()) session.destroy();
});

async function over(
  protocol: 'http/1.1' | 'h2',
  to: ModuleWay,
  path: string,
): Promise<{ status: number; code: string }> {
  if (protocol === 'http/1.1') {
    const head = `GET ${path} HTTP/1.1\r\nHost: ${to.host}\r\nUser-Agent: t\r\nConnection: close\r\n\r\n`;
    const { statuses, bytes } = await rawExchange(await to.edge.connect(to.host), head);
    return { status: statuses[0] ?? 0, code: /postern-error-code: (\S+)/i.exec(bytes)?.[1] ?? '' };
  }
  const session = sessions.get(to) ?? (await to.edge.http2(to.host));
  sessions.set(to, session);
  const stream = session.request({ ':path': path, 'user-agent': 't' });
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status': number }];
  stream.resume();
  return { status: headers[':status'], code: String(headers['postern-error-code'] ?? '') };
}

async function gets(to: ModuleWay, path: string): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const protocol of ['http/1.1', 'h2'] as const) {
    ways.got = [];
    const { status, code } = await over(protocol, to, path);
    answers.push(status === 200 ? String(ways.got.at(-1)?.url) : `${status} ${code}`);
    assert.equal(ways.got.length, status === 200 ? 1 : 0, path);
  }
  return answers;
}

const STRICT = ['400 ERR_POSTERN_BAD_PATH', '400 ERR_POSTERN_BAD_PATH'];

suite('URLs of applications', () => {
  for (const [application, urls] of Object.entries(URLS)) {
    test(`${application}: arrive byte for byte, with either protocol and over every way`, async () => {
      for (const to of ways.ways) {
        for (const url of urls) assert.deepEqual(await gets(to, url), [url, url], `${url} over ${to.name}`);
      }
    });
  }

  test('paths that climb, that nobody can decode, or that lead below paths of the edge never arrive', async () => {
    for (const path of REFUSED) assert.deepEqual(await gets(way, path), STRICT, path);
  });

  test("an agent's own endpoint passes them too, unless one of its modules reads paths", async () => {
    const addr = ways.serviceAddress;
    const rules = ['path_prefix /api/ /'];
    for (const [modules, passes] of [
      [{}, true],
      [{ rewrite: { rules } }, false],
    ] as const) {
      const agent = await ways.world.agent([{ proto: 'https', addr, modules }]);
      const site = { ...way, host: new URL(agent.publicUrl ?? '').hostname };
      for (const path of ['/api/queues/%2F/x', '/a//b', '/dav/a%5Cb', '/./a'])
        assert.deepEqual(await gets(site, path), passes ? [path, path] : STRICT, path);
      await agent.close();
    }
  });
});

/** In forms that pass where nothing reads paths. */
const ODD = ['/a//b', '/api/queues/%2F/x', '/;x/a', '/a%5Cb', '/a%0Ab', '/a/./b', '//', '/a/%7F'];
const PASS = ODD.map((path) => [path, path]);
const everyOdd = async (to = way): Promise<unknown[]> => {
  const all = [];
  for (const path of ODD) all.push(await gets(to, path));
  return all;
};

suite('a route on which something reads paths', () => {
  const readers: readonly (readonly [string, object, string])[] = [
    [
      'rewrite',
      { rules: [{ match_type: 'path_prefix', match: '/api/', to: '/' }] },
      'rewrite rules[0] path_prefix /api/',
    ],
    [
      'redirect',
      { rules: [{ match_type: 'exact_path', match: '/old', to: '/new' }] },
      'redirect rules[0] exact_path /old',
    ],
    ['request_headers', { add: { 'x-a': 'b', 'x-path': `\${req.url.path}` } }, 'request_headers add x-path'],
    ['request_headers', { add: { 'x-url': `https://x/\${ .req.url }` } }, 'request_headers add x-url'],
    ['response_headers', { add: { 'x-uri': `\${req.url.uri}` } }, 'response_headers add x-uri'],
  ];
  for (const [module, config, rule] of readers) {
    test(`${rule}: refuses every odd path, and says why`, async () => {
      await edge.api('PUT', `${way.routePath}/${module}`, config);
      assert.deepEqual(
        await everyOdd(),
        ODD.map(() => STRICT),
      );
      assert.deepEqual(await gets(way, '/a/b;x=1'), ['/a/b;x=1', '/a/b;x=1'], 'a path that is not odd');
      const { decisions, outcome } = await edge.api('POST', '/explain', { url: `https://${way.host}/a//b` });
      assert.equal(outcome.error_code, 'ERR_POSTERN_BAD_PATH');
      assert.deepEqual([decisions[0].reason, decisions[0].rule], ['strict_path', rule]);
      assert.match(decisions[0].text, /empty segment.+nothing reads paths/);
      const [kept] = (await edge.api('GET', `/requests?host=${way.host}&status=400`)).requests;
      assert.deepEqual(kept.decisions, [{ module: 'edge', decision: 'refuse', reason: 'strict_path', rule }]);
      await edge.api('PUT', `${way.routePath}/${module}`, { ...config, enabled: false });
      assert.deepEqual(await everyOdd(), PASS, 'a disabled module reads nothing');
      await edge.api('DELETE', `${way.routePath}/${module}`);
    });
  }

  test('other modules read none, and their routes pass all', async () => {
    const { policyId } = await edge.ipPolicy('allow', '127.0.0.0/8');
    const add = { 'x-client': `\${conn.client_ip}`, 'x-query': `\${req.url.query}`, 'x-host': `\${req.url.host}` };
    for (const [module, config] of [
      ['request_headers', { add }],
      ['compression', {}],
      ['ip_restriction', { ip_policy_ids: [policyId] }],
      ['rate_limit', { limits: [{ key: 'address', limit: 10_000, window_seconds: 1 }] }],
      ['circuit_breaker', { error_threshold_percentage: 0.5 }],
      ['user_agent_filter', { deny: ['^bad$'] }],
    ] as const) {
      await edge.api('PUT', `${way.routePath}/${module}`, config);
    }
    assert.deepEqual(await everyOdd(), PASS);
    for (const module of [
      'request_headers',
      'compression',
      'ip_restriction',
      'rate_limit',
      'circuit_breaker',
      'user_agent_filter',
    ])
      await edge.api('DELETE', `${way.routePath}/${module}`);
  });

  test('a path that passes is explained', async () => {
    const { decisions } = await edge.api('POST', '/explain', { url: `https://${way.host}/a//b` });
    assert.deepEqual([decisions[0].decision, decisions[0].reason], ['pass', 'odd_path']);
  });
});

suite('a site with several routes', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['//admin', 'empty segments dropped'],
    ['/.//admin/x', 'and dots'],
    ['/./admin', 'a dot segment dropped'],
    ['/x//admin', ''],
    ['//host/admin', 'what follows "//" taken for a host'],
    ['/%2Fhost/admin/x', 'the same, escaped'],
    ['/%5Cadmin', 'a backslash as a slash'],
    ['/%5C/host/admin', ''],
    ['/%0Aadmin', 'a line end dropped'],
    ['/.%0A/admin', 'the same in a dot segment'],
    ['/ad%09min', 'a tab dropped'],
    ['/;x/admin', 'a segment of parameters dropped'],
    ['//ADMIN', 'in another case'],
    ['//%61dmin', 'escaped'],
    ['//%2561dmin', 'escaped twice'],
  ];
  for (const access of ['the same access rules', 'other access rules']) {
    test(`a path with a reading on another route is refused: ${access}`, async () => {
      const host = newHost();
      const edgeId = await edge.edge(host);
      for (const match of ['/', '/admin']) {
        const path = await edge.route(edgeId, match);
        await edge.api('PUT', `${path}/backend`, { backend_id: await edge.staticBackend(ways.serviceAddress) });
        if (match === '/admin' && access === 'other access rules') {
          const { policyId } = await edge.ipPolicy('allow', '192.0.2.0/24');
          await edge.api('PUT', `${path}/ip_restriction`, { ip_policy_ids: [policyId] });
        }
      }
      const site = { ...way, host };
      for (const [path, why] of cases)
        assert.deepEqual(await gets(site, path), path === '/x//admin' ? [path, path] : STRICT, `${path}: ${why}`);
      for (const path of ['/a//b', '/queues/%2F/x', '/a/./b', '/a%5Cb', '/;x/a', '/web/https://b/c'])
        assert.deepEqual(await gets(site, path), [path, path], path);
      const lineEnd = await gets(site, '/a%0Ab');
      assert.deepEqual(lineEnd, access === 'other access rules' ? STRICT : ['/a%0Ab', '/a%0Ab']);
      sessions.delete(site);
    });
  }

  test('one strict route leaves the others alone', async () => {
    const host = newHost();
    const edgeId = await edge.edge(host);
    for (const match of ['/', '/api/']) {
      const path = await edge.route(edgeId, match);
      await edge.api('PUT', `${path}/backend`, { backend_id: await edge.staticBackend(ways.serviceAddress) });
      if (match === '/api/')
        await edge.api('PUT', `${path}/rewrite`, { rules: [{ match_type: 'path_prefix', match: '/api/', to: '/' }] });
    }
    const site = { ...way, host };
    assert.deepEqual(await gets(site, '/files/a//b'), ['/files/a//b', '/files/a//b']);
    assert.deepEqual(await gets(site, '/api/a//b'), STRICT);
    assert.deepEqual(await gets(site, '/api/a'), ['/a', '/a']);
    const { decisions, candidates } = await edge.api('POST', '/explain', { url: `https://${host}/api/a//b` });
    assert.equal(decisions[0].rule, 'rewrite rules[0] path_prefix /api/');
    assert.match(JSON.stringify(candidates), /the route refuses paths that programs read differently/);
  });
});
