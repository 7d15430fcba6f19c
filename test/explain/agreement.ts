// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the modules are written like this
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type RecordingUpstream, recordingUpstream, seenOf } from '../edge/traffic/recording-upstream.ts';
import type { Cleanup } from '../support/cleanup.ts';
import type { EdgeWorld } from '../support/edge-world.ts';

const MATCHES = ['/', '/a', '/a/b', '/admin', '/Admin', '/%61', '/x/'] as const;
const PATHS = [
  '/',
  '/a',
  '/a/',
  '/a/b',
  '/A',
  '/admin',
  '/ADMIN',
  '/admin/x',
  '/%61',
  '/a%2Fb',
  '/a;x/b',
  '/b',
  '/x/',
  '/a/../b',
];
const CIDRS = ['127.0.0.0/8', '127.0.0.1/32', '10.0.0.0/8', '0.0.0.0/0'] as const;

const REDIRECTS = [
  [{ match_type: 'path_prefix', match: '/a', to: 'https://other.example/' }],
  [{ match_type: 'regex', match: '^/x(.*)$', to: '/$1' }],
] as const;
/** Some lead to routes with other access modules. */
const REWRITES = [
  [{ match_type: 'path_prefix', match: '/', to: '/admin/' }],
  [{ match_type: 'path_prefix', match: '/a', to: '/' }],
  [{ match_type: 'regex', match: '^/(.)(.*)$', to: '/$2' }],
] as const;

const NEVER = { window_seconds: 86_400 };
/** Modules that need no other resource, with configurations of theirs. */
const MODULES = {
  user_agent_filter: [{ deny: ['bot'] }, { allow: ['^tests$'], deny: ['.'] }, { enabled: false, deny: ['.'] }],
  maintenance: [{ allow_cidrs: ['127.0.0.0/8'] }, { retry_after: 0 }, { enabled: false }],
  rate_limit: [
    { limits: [{ limit: 2, ...NEVER }] },
    { limits: [{ limit: 1, ...NEVER, key: 'header:x-key' }] },
    {
      limits: [
        { limit: 3, ...NEVER, key: 'route' },
        { limit: 1, ...NEVER, key: 'user' },
      ],
    },
    { limits: [{ limit: 1, ...NEVER }], enforce: false },
    { enabled: false, limits: [{ limit: 1, ...NEVER }] },
  ],
  circuit_breaker: [
    { error_threshold_percentage: 0, volume_threshold: 1, tripped_duration: 600 },
    { error_threshold_percentage: 0.5, volume_threshold: 2, tripped_duration: 600 },
    { error_threshold_percentage: 1, volume_threshold: 2, tripped_duration: 600, rolling_window: 600 },
    { enabled: false, error_threshold_percentage: 0, volume_threshold: 1 },
  ],
  request_headers: [
    { add: { 'x-sent': '${req.method} ${req.headers.x-key}' }, remove: ['x-key'] },
    { add: { host: 'inner.example', 'x-key': 'ours' } },
  ],
  response_headers: [{ add: { 'x-got': '${res.status_code}' } }],
} as const;

const modulesOfRoute = fc.record(
  Object.fromEntries(
    Object.entries(MODULES).map(([name, bodies]) => [name, fc.constantFrom<object | null>(null, null, ...bodies)]),
  ),
);

/** Otherwise few requests would reach a backend. */
const seldom = fc.constantFrom(true, false, false, false);

const route = fc.record({
  match: fc.constantFrom(...MATCHES),
  matchType: fc.constantFrom('path_prefix', 'exact_path'),
  policies: fc.array(fc.record({ action: fc.constantFrom('allow', 'deny'), cidr: fc.constantFrom(...CIDRS) }), {
    maxLength: 2,
  }),
  modules: modulesOfRoute,
  redirects: fc.constantFrom(null, null, ...REDIRECTS),
  rewrites: fc.constantFrom(null, ...REWRITES),
  login: seldom,
  access: seldom,
  backend: fc.constantFrom('static', 'fixed', 'weighted', 'failover', 'none'),
});

const request = fc.record({
  path: fc.constantFrom(...PATHS),
  method: fc.constantFrom('GET', 'POST', 'OPTIONS'),
  accept: fc.constantFrom('text/html', '*/*'),
  authorization: fc.constantFrom(null, null, 'Bearer pst_unknown', 'Basic eDp5'),
  agent: fc.constantFrom('tests', 'a bot', null),
  key: fc.constantFrom('one', 'two', null),
  fails: fc.boolean(),
});

export const configurations = fc.record({
  routes: fc.uniqueArray(route, {
    minLength: 1,
    maxLength: 4,
    selector: ({ match, matchType }) => `${match} ${matchType}`,
  }),
  requests: fc.array(request, { minLength: 8, maxLength: 8 }),
});

type Configuration = typeof configurations extends fc.Arbitrary<infer Value> ? Value : never;

/** One route with several modules: their counters and circuits decide about most requests. */
export const crowdedRoutes: fc.Arbitrary<Configuration> = fc.record({
  routes: route.map((each) => [
    { ...each, match: '/', matchType: 'path_prefix', policies: [], login: false, access: false, backend: 'static' },
  ]),
  requests: fc.array(request, { minLength: 8, maxLength: 8 }),
});

export interface Backends {
  readonly static: string;
  readonly fixed: string;
  readonly weighted: string;
  readonly failover: string;
}

/** Makes the configuration, asks what would happen to each request, sends it, and compares. */
export async function assertAgreement(
  world: EdgeWorld,
  { backends, upstream }: { readonly backends: Backends; readonly upstream: RecordingUpstream },
  host: string,
  { routes, requests }: Configuration,
): Promise<void> {
  const edgeId = await world.edge(host);
  for (const { match, matchType, policies, modules, redirects, rewrites, login, access, backend } of routes) {
    const created = await world.world.api('POST', `/edges/https/${edgeId}/routes`, { match, match_type: matchType });
    // Two spellings of one path are rejected: the others remain.
    if (created.status !== 201) continue;
    const path = `/edges/https/${edgeId}/routes/${created.body.id}`;
    if (backend !== 'none') await world.api('PUT', `${path}/backend`, { backend_id: backends[backend] });
    const ids = [];
    for (const { action, cidr } of policies) ids.push((await world.ipPolicy(action, cidr)).policyId);
    if (ids.length > 0) await world.api('PUT', `${path}/ip_restriction`, { ip_policy_ids: ids });
    for (const [name, body] of Object.entries(modules))
      if (body !== null) await world.api('PUT', `${path}/${name}`, body);
    if (redirects !== null) await world.api('PUT', `${path}/redirect`, { rules: redirects });
    if (rewrites !== null) await world.api('PUT', `${path}/rewrite`, { rules: rewrites });
    if (login)
      await world.api('PUT', `${path}/oidc`, { issuer: 'https://id.invalid', client_id: 'c', client_secret: 's' });
    if (access) await world.api('PUT', `${path}/access`, { allow: [{ emails: ['ada@example.com'] }] });
  }
  for (const { path, method, accept, authorization, agent, key, fails } of requests) {
    const headers = {
      accept,
      ...(authorization !== null && { authorization }),
      ...(agent !== null && { 'user-agent': agent }),
      ...(key !== null && { 'x-key': key }),
      ...(fails && { 'x-fails': '1' }),
    };
    upstream.forget();
    const explained = await world.api('POST', '/explain', { url: `https://${host}${path}`, method, headers });
    const answer = await world.ask(host, path, { method, headers });
    const happened = await world.api('GET', `/requests/${String(answer.headers['postern-request-id'])}`);
    const seen = JSON.stringify({ path, method, headers, explained, status: answer.status, happened });
    const { outcome } = explained;
    if (outcome.status !== undefined) assert.equal(answer.status, outcome.status, seen);
    assert.equal(answer.headers['postern-error-code'], outcome.error_code, seen);
    assert.equal(answer.headers['location'], outcome.location ?? answer.headers['location'], seen);
    assert.deepEqual(happened.route, explained.route, seen);
    const names = outcome.targets.map(({ name }: { name: string }) => name);
    if (happened.target === undefined) assert.deepEqual(names, [], seen);
    else assert.ok(names.includes(happened.target), seen);
    const passed = (decisions: { decision: string; module: string; reason: string }[]) =>
      decisions.filter(({ decision }) => decision === 'pass').map(({ module, reason }) => `${module} ${reason}`);
    assert.deepEqual(passed(explained.decisions), passed(happened.decisions), seen);
    assertForwarded(upstream, explained.upstream_request, { path, headers: { ...headers, host }, seen });
  }
  await world.api('DELETE', `/edges/https/${edgeId}`);
}

/** The upstream got what was explained, if it was asked, and nothing else. */
function assertForwarded(
  { seen: [got] }: RecordingUpstream,
  changes: Changes | null,
  { path, headers, seen }: Sent,
): void {
  if (got === undefined) return;
  assert.ok(changes !== null, seen);
  for (const name of ['host', 'x-sent', 'x-key', 'x-forwarded-prefix']) {
    const added: string | undefined = changes.headers_added[name];
    const isReplaced: boolean = changes.headers_removed.includes(name) || (name === 'host' && added !== undefined);
    const values: (string | undefined)[] = [isReplaced ? undefined : headers[name], added];
    const expected = values.filter((value) => value !== undefined).join(', ');
    assert.equal(got.headers[name] ?? '', expected, `${name} ${seen}`);
  }
  assert.equal(got.url, changes.target ?? path, seen);
}

interface Sent {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly seen: string;
}

interface Changes {
  readonly headers_added: Readonly<Record<string, string>>;
  readonly headers_removed: readonly string[];
  readonly target?: string;
}

/** An upstream that fails if it is asked to. */
export async function openUpstream(test: Cleanup): Promise<RecordingUpstream> {
  const upstream = await recordingUpstream(test);
  upstream.answer = (request, response) => {
    upstream.seen.push(seenOf(request, ''));
    response.writeHead(request.headers['x-fails'] === undefined ? 200 : 500).end('hello');
  };
  return upstream;
}

export async function makeBackends(world: EdgeWorld, address: string): Promise<Backends> {
  const [upstream, fixed, gone] = [
    await world.staticBackend(address),
    await world.httpResponse('fixed', { status_code: 203 }),
    await world.staticBackend('127.0.0.1:1'),
  ];
  const weighted = await world.api('POST', '/backends/weighted', { backends: { [upstream]: 1, [fixed]: 1 } });
  const failover = await world.api('POST', '/backends/failover', { backends: [gone, upstream] });
  return { static: upstream, fixed, weighted: weighted.id, failover: failover.id };
}
