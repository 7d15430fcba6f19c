import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { parse } from 'yaml';
import { tempDir } from '../../support/temp-dir.ts';
import { runCommand } from '../run-command.ts';

const folder = await tempDir({ after });
let files = 0;

/** What the written file serves: tunnels, or routes with a backend that is turned on. */
async function served(source: readonly string[], text: string): Promise<{ code: number; names: string[] }> {
  files += 1;
  const input = join(folder, `input-${files}`);
  const file = join(folder, `output-${files}`);
  await writeFile(input, text);
  const { code, stderr } = await runCommand(['import', ...source, input, '--file', file, '-o', 'json']);
  if (code === 1) {
    assert.match(stderr, /ERR_POSTERN_IMPORT_INPUT|input-\d+:/);
    return { code, names: [] };
  }
  const { tunnels, https_edges: edges, backends } = parse(await readFile(file, 'utf8'));
  const names = Object.keys(tunnels ?? {});
  // biome-ignore lint/suspicious/noExplicitAny: written files are looked into field by field
  for (const [host, { routes }] of Object.entries<any>(edges ?? {})) {
    // biome-ignore lint/suspicious/noExplicitAny: as above
    for (const [match, { backend }] of Object.entries<any>(routes ?? {})) {
      const isOn = backend !== undefined && backend.enabled !== false;
      if (isOn && !(backends[backend.backend].status_code >= 400)) names.push(`${host}${match}`);
    }
  }
  return { code, names };
}

type Case = readonly [name: string, text: string];

function nothingServed(source: readonly string[], cases: readonly Case[]): void {
  for (const [name, text] of cases) {
    test(name, async () => {
      const { code, names } = await served(source, text);
      assert.deepEqual(names, []);
      assert.ok(code === 4 || code === 1, String(code));
    });
  }
}

const agentTunnel = (extra: string): string =>
  `base: &base {traffic_policy_file: p.yml}\nversion: 2\ntunnels:\n  a:\n    proto: http\n    addr: 1\n    domain: a.example.com\n    ${extra}\n`;
const agentEndpoint = (extra: string, host = 'a.example.com'): string =>
  `version: 3\nendpoints:\n  - name: a\n    url: https://${host}\n    upstream: {url: 1}\n    ${extra}\n`;

suite('a tunnel of an ngrok.yml that may have been protected is left out', () => {
  nothingServed(
    ['ngrok-agent'],
    [
      ['a merged protection', agentTunnel('<<: *base')],
      ...[
        'oauth: google',
        'oauth: [{provider: google}]',
        'oauth: {}',
        'oauth: {provider: google, client_id: a, client_secret: b, allow_groups: [ops]}',
        'oidc: [{issuer_url: "https://i", client_id: x}]',
        'oidc: true',
        'traffic_policy_file: p.yml',
        'policy_file: p.yml',
        'bindings: [internal]',
        'bindings: internal',
        'webhook_verification: {provider: github, secret: s}',
        'Basic_Auth: ["ana:password"]',
        'basic_auth: ["ana:short"]',
        'basic_auth: ["ana:password", "bob"]',
        'basic_auth: {ana: password}',
        'basic_auth: ["ana:password"]\n    schemes: [http]',
        'basic_auth: ["ana:password"]\n    oidc: {issuer_url: "https://i.example.com", client_id: x, client_secret: y}',
        'basic_auth: ["ana:password"]\n    auth: "bob:password"',
        'traffic_policy: {on_http_request: [{expressions: ["a"], actions: [{type: basic-auth, config: {credentials: ["a:password"]}}]}]}',
        'traffic_policy: {on_http_request: [{actions: [{type: basic-auth, config: {credentials: ["a:password"], enforce: false}}]}]}',
        'traffic_policy: {on_http_request: [{actions: [{type: basic-auth, config: {credentials: ["a:password"]}}, {type: deny}]}]}',
        'constructor: x',
        'request_header: {remove: [x-remote-user], other: [x]}',
      ].map((extra): Case => [`tunnel with ${extra}`, agentTunnel(extra)]),
      ['a tunnel with an internal domain', agentTunnel('').replace('a.example.com', 'a.INTERNAL')],
      ['an internal endpoint in capitals', agentEndpoint('', 'foo.INTERNAL')],
      ...[
        'bindings: internal',
        'bindings: [kubernetes]',
        'oauth: {provider: google}',
        'jwt_validation: {issuer: x}',
        '<<: {traffic_policy: {on_http_request: [{actions: [{type: deny}]}]}}',
      ].map((extra): Case => [`endpoint with ${extra}`, agentEndpoint(extra)]),
      ['endpoints of an unexpected shape', 'version: 3\nendpoints: {a: {url: "https://a.example.com"}}\n'],
    ],
  );

  test('passwords are carried over', async () => {
    const policy =
      'traffic_policy: {on_http_request: [{actions: [{type: basic-auth, config: {realm: x, credentials: ["ana:password"]}}]}]}';
    for (const text of [
      agentTunnel('basic_auth: ["ana:password", "bob:password: 2"]'),
      agentTunnel('auth: "ana:password"'),
      agentTunnel(policy),
      agentEndpoint(policy),
    ]) {
      assert.deepEqual((await served(['ngrok-agent'], text)).names, ['a'], text);
    }
  });

  test('a plain tunnel and a plain endpoint are written', async () => {
    assert.deepEqual((await served(['ngrok-agent'], agentTunnel(''))).names, ['a']);
    assert.deepEqual((await served(['ngrok-agent'], agentEndpoint('bindings: [public]'))).names, ['a']);
  });
});

const proxy = (extra: string, type = 'http'): string =>
  `[[proxies]]\nname = "a"\ntype = "${type}"\nlocalPort = 80\ncustomDomains = ["a.example.com"]\n${extra}\n`;
const iniProxy = (extra: string): string =>
  `[common]\nserver_addr = x\n[web]\ntype = http\nlocal_port = 80\ncustom_domains = a.example.com\n${extra}\n`;

suite('a proxy of frp that may have been protected is left out', () => {
  nothingServed(
    ['frp'],
    [
      ...[
        'http_user = "x"\nhttp_pwd = "y"',
        'enabled = false',
        'enabled = "no"',
        'locations = ["/public"]',
        'allowUsers = ["me"]',
        'plugin = ["x"]',
        '[proxies.plugin]\ntype = "https2http"\nlocalAddr = "127.0.0.1:80"\nhttpUser = "u"',
      ].map((extra): Case => [`proxy with ${extra.replaceAll('\n', ' ')}`, proxy(extra)]),
      ...['STCP', 'Stcp', 'constructor', 'toString', 'quic'].map(
        (type): Case => [`proxy of type ${type}`, proxy('', type)],
      ),
      ['a proxy that is not started', `start = ["b"]\n${proxy('')}`],
      ['proxies of an unexpected shape', '[proxies]\nname = "a"\ntype = "http"\nlocalPort = 80\n'],
      ...['http_user: admin=1\nhttp_pwd: pass=word', '`http_user` = x', '"http_pwd" = y'].map(
        (extra): Case => [`section with ${extra.replaceAll('\n', ' ')}`, iniProxy(extra)],
      ),
      ['a section inside another', iniProxy('http_user = x\n[web.child]\ntype = http\nlocal_port = 1')],
    ],
  );

  test('a plain proxy is written in both forms', async () => {
    assert.deepEqual((await served(['frp'], proxy('enabled = true'))).names, ['a']);
    assert.deepEqual((await served(['frp'], iniProxy(''))).names, ['web']);
  });
});

const backend = { enabled: true, backend: { id: 'bkdtg_1' } };
const restricted = { ip_restriction: { enabled: true, ip_policies: [{ id: 'ipp_1' }] } };
const policies = { ip_policies: [{ id: 'ipp_1' }] };
const rule = { id: 'ipr_1', action: 'deny', cidr: '192.0.2.1/32', ip_policy: { id: 'ipp_1' } };
const rules = { ...policies, ip_policy_rules: [rule] };
const dump = (edge: object, route: object, others: object = {}): string =>
  JSON.stringify({
    https_edges: [
      {
        id: 'edghts_1',
        hostports: ['a.example.com:443'],
        routes: [{ id: 'edghtsrt_1', match_type: 'path_prefix', match: '/', backend, ...route }],
        ...edge,
      },
    ],
    backends: [{ id: 'bkdtg_1', description: 'orders', labels: { app: 'orders' } }],
    ip_restrictions: [],
    ...others,
  });

suite('a route of the retired API that may have been protected is turned off', () => {
  nothingServed(
    ['ngrok', '--from-file'],
    [
      ['policy of the edge', dump({ policy: { enabled: true, inbound: [{ actions: [{ type: 'deny' }] }] } }, {})],
      ['traffic policy of the edge', dump({ traffic_policy: { enabled: true, value: 'x' } }, {})],
      ['mutual TLS of an unexpected shape', dump({ mutual_tls: ['ca_1'] }, {})],
      ['an unknown module', dump({}, { jwt_validation: { enabled: true, x: 'y' } })],
      ['an unknown module without a switch', dump({}, { basic_auth: ['a:b'] })],
      ['a login of an unexpected shape', dump({}, { oauth: 'google' })],
      ['a module whose switch is a text', dump({}, { oidc: { enabled: 'true', issuer: 'https://i.example.com' } })],
      [
        'a rule of a login that is not known',
        dump({}, { oauth: { enabled: true, provider: { google: { client_id: 'x', groups: ['admins'] } } } }),
      ],
      [
        'an enforced IP restriction of the account',
        dump({}, {}, { ip_restrictions: [{ id: 'ipx_1', type: 'endpoints', enforced: true, ip_policies: [] }] }),
      ],
      [
        'mutual TLS with a missing CA',
        dump({ mutual_tls: { enabled: true, certificate_authorities: [{ id: 'ca_missing' }] } }, {}),
      ],
      [
        'an IP restriction with a missing policy',
        dump({}, { ip_restriction: { enabled: true, ip_policies: [{ id: 'ipp_missing' }] } }),
      ],
      ['IP restrictions of an unexpected shape', dump({}, {}, { ip_restrictions: { enforced: true } })],
      ['IP restrictions that were not saved', dump({}, {}, { ip_restrictions: undefined })],
      ['rules of a policy that were not saved', dump({}, restricted, policies)],
      [
        'the first page of rules',
        dump({}, restricted, { ...rules, next_page_uri: '/ip_policy_rules?before_id=ipr_1' }),
      ],
      ...[{ next_page_uri: '/x?before_id=ipr_1' }, { next_page_uri: 5 }, { uri: '/x?before_id=ipr_0' }].map(
        (page, at): Case => [
          `pages of rules without the next or the first, form ${at}`,
          JSON.stringify([
            JSON.parse(dump({}, restricted, policies)),
            { ip_policy_rules: [rule], ...page },
            ...(at === 2 ? [{ ip_policy_rules: [], uri: '/x' }] : []),
          ]),
        ],
      ),
      [
        'a rule with a field that is not known',
        dump({}, restricted, { ...rules, ip_policy_rules: [{ ...rule, if: 'x' }] }),
      ],
      ['a policy with an action', dump({}, restricted, { ...rules, ip_policies: [{ id: 'ipp_1', action: 'deny' }] })],
      [
        'a rule without a policy',
        dump({}, restricted, { ...rules, ip_policy_rules: [{ ...rule, ip_policy: 'ipp_1' }] }),
      ],
      [
        'two forms of one rule',
        JSON.stringify([JSON.parse(dump({}, restricted, rules)), { ip_policy_rules: [{ ...rule, action: 'allow' }] }]),
      ],
      [
        'a wildcard beside an edge that was not saved',
        dump({ hostports: ['*.example.com:443'] }, {}, { ...rules, next_page_uri: '/edges/https?before_id=edghts_1' }),
      ],
    ],
  );

  test('a plain route is written', async () => {
    const others = { ip_restrictions: [{ id: 'ipx_1', type: 'endpoints', enforced: false, ip_policies: [] }] };
    assert.deepEqual((await served(['ngrok', '--from-file'], dump({}, {}, others))).names, ['a.example.com/']);
    const { ip_policy_rules: saved, ...before } = rules;
    const pages = [
      JSON.parse(dump({}, restricted, before)),
      { ip_policy_rules: saved, next_page_uri: '/ip_policy_rules?before_id=ipr_1' },
      { ip_policy_rules: [{ ...rule, id: 'ipr_2' }], uri: '/ip_policy_rules?before_id=ipr_1', next_page_uri: null },
    ];
    for (const text of [dump({}, restricted, rules), JSON.stringify(pages), JSON.stringify(pages.toReversed())])
      assert.deepEqual((await served(['ngrok', '--from-file'], text)).names, ['a.example.com/']);
  });
});

type Routes = readonly unknown[];
const app = { handler: 'reverse_proxy', upstreams: [{ dial: '127.0.0.1:8080' }] };
const denied = { handler: 'static_response', status_code: 403 };
const login = { handler: 'authentication', providers: { http_basic: { accounts: [] } } };
const forwardAuth = {
  ...app,
  rewrite: { uri: '/auth' },
  handle_response: [{ match: { status_code: [2] }, routes: [] }],
};
const sub = (...routes: Routes) => ({ handler: 'subroute', routes });
const path = (...paths: string[]) => [{ path: paths }];
const outside = [{ not: [{ remote_ip: { ranges: ['10.0.0.0/8'] } }] }];
const host = (...hosts: string[]) => [{ host: hosts }];
const server = (routes: unknown, extra: object = {}, others: object = {}): string =>
  JSON.stringify({ apps: { http: { servers: { srv0: { listen: [':443'], routes, ...extra } } }, ...others } });
const site = (routes: Routes, extra: object = {}, others: object = {}): string =>
  server([{ match: host('app.example.com'), handle: [sub(...routes)], terminal: true }], extra, others);
const group = 'group2';
const mutualTls = [{ match: { sni: ['app.example.com'] }, client_authentication: { mode: 'require_and_verify' } }, {}];

suite('a site of Caddy that may have been protected is not served', () => {
  nothingServed(
    ['caddy'],
    [
      [
        'abort in a group',
        site([
          { group, match: outside, handle: [sub({ handle: [{ handler: 'static_response', abort: true }] })] },
          { group, handle: [sub({ handle: [app] })] },
        ]),
      ],
      [
        'a login in a group',
        site([
          { group, match: [{ header: { X: ['*'] } }], handle: [sub({ handle: [login] })] },
          { group, handle: [app] },
        ]),
      ],
      [
        'a login for a path in a group',
        site([
          { group, match: path('/a*'), handle: [login, app] },
          { group, handle: [app] },
        ]),
      ],
      [
        'a group that ends without an answer',
        site([
          { group, match: path('/a*'), handle: [] },
          { group, handle: [app] },
        ]),
      ],
      [
        'another upstream for some addresses',
        site([
          { group, match: outside, handle: [{ ...app, upstreams: [{ dial: 'public:80' }] }] },
          { group, handle: [app] },
        ]),
      ],
      [
        'forward_auth except for a path',
        site([{ match: [{ not: path('/public/*') }], handle: [forwardAuth] }, { handle: [app] }]),
      ],
      ['forward_auth for a path', site([{ match: path('/admin*'), handle: [forwardAuth] }, { handle: [app] }])],
      ['forward_auth', site([{ handle: [forwardAuth, app] }])],
      ['a login in a subroute', site([{ handle: [sub({ handle: [login] })] }, { handle: [app] }])],
      ['a login for a path in a subroute', site([{ handle: [sub({ match: path('/x*'), handle: [login] }), app] }])],
      [
        'a login before an error',
        site([{ handle: [login, { handler: 'error' }] }, { match: path('/b*'), handle: [app] }]),
      ],
      ['mutual TLS', site([{ handle: [app] }], { tls_connection_policies: mutualTls })],
      ['TLS policies of an unexpected shape', site([{ handle: [app] }], { tls_connection_policies: { 0: {} } })],
      ['an unknown part of the server', site([{ handle: [app] }], { listener_wrappers: [{ wrapper: 'x' }] })],
      ['an unknown app', site([{ handle: [app] }], {}, { layer4: { servers: {} } })],
      ['a server on one address', site([{ handle: [app] }], { listen: ['10.0.0.1:443'] })],
      ['a server that does not listen', site([{ handle: [app] }], { listen: 'x' })],
      [
        'a wider 403 first',
        site([
          { match: path('/internal/*'), handle: [denied] },
          { match: path('/internal/api/*'), handle: [app] },
        ]),
      ],
      [
        '403 for everything first',
        site([{ handle: [{ ...denied, status_code: 503 }] }, { match: path('/api/*'), handle: [app] }]),
      ],
      [
        '403 for a path and its prefix',
        site([{ match: path('/admin', '/admin*'), handle: [denied] }, { handle: [app] }]),
      ],
      ['403 for a path, in other case', site([{ match: path('/admin/*'), handle: [denied] }, { handle: [app] }])],
      ['an error for a path', site([{ match: path('/admin/*'), handle: [{ handler: 'error' }] }, { handle: [app] }])],
      ['403 for the end of a path', site([{ match: path('*/secret'), handle: [denied] }, { handle: [app] }])],
      ['another upstream for the end of a path', site([{ match: path('*.php'), handle: [app] }, { handle: [app] }])],
      ['two sets of matchers', site([{ match: [...path('/a'), ...path('/b')], handle: [app] }, { handle: [app] }])],
      [
        'a path that is changed before it matches',
        site([{ handle: [{ handler: 'rewrite' }] }, { match: path('/a'), handle: [app] }]),
      ],
      ['a path that is changed', site([{ match: path('/a*'), handle: [{ handler: 'rewrite' }] }, { handle: [app] }])],
      [
        'a path that ends without an answer',
        site([{ match: path('/a*'), handle: [], terminal: true }, { handle: [app] }]),
      ],
      ['another host inside', site([{ match: host('internal.example.com'), handle: [app] }])],
      ...[
        { delete: ['X-*'] },
        { delete: ['X-Forwarded-For'] },
        { set: { 'X-User': ['{http.auth.user.id}'] } },
        { set: { 'X-User': ['a'] }, delete: ['x-user'] },
        { set: { 'X-User': ['a', 'b'] } },
        { set: { Authorization: ['Basic eDp5'] } },
        { set: { 'Client-Cert': [''] } },
        { replace: { 'X-User': [{ search: 'a', replace: '' }] } },
        { add: { 'X-User': '' } },
        'X-User',
      ].flatMap((request, at): [string, string][] => [
        [`request headers, form ${at}`, site([{ handle: [{ handler: 'headers', request }, app] }])],
        [`request headers of the proxy, form ${at}`, site([{ handle: [{ ...app, headers: { request } }] }])],
      ]),
      [
        'request headers of a part of the requests',
        site([
          { match: path('/a/*'), handle: [{ handler: 'headers', request: { delete: ['X-User'] } }] },
          { handle: [app] },
        ]),
      ],
      ['a file server that passes on', site([{ handle: [{ handler: 'file_server', pass_thru: true }, app] }])],
      [
        'a 403 without a host first',
        server([
          { match: path('/admin*'), handle: [denied], terminal: true },
          { match: host('app.example.com'), handle: [app], terminal: true },
        ]),
      ],
      [
        'a login without a host, later',
        server([{ match: host('app.example.com'), handle: [app] }, { handle: [login] }]),
      ],
      [
        'a wider host first',
        server([
          { match: host('*.example.com'), handle: [denied] },
          { match: host('app.example.com'), handle: [app] },
        ]),
      ],
      ['matchers of an unexpected shape', server([{ match: { host: ['app.example.com'] }, handle: [app] }])],
      [
        'a subroute of an unexpected shape',
        site([{ handle: [{ handler: 'subroute', routes: { 0: { handle: [login] } } }, app] }]),
      ],
      ['a handler of an unexpected shape', site([{ handle: [['authentication'], app] }])],
      ['handlers of an unexpected shape', site([{ handle: login }, { handle: [app] }])],
      ['a route of an unexpected shape', site([[login], { handle: [app] }])],
      ['an unknown field of a route', site([{ handle: [app], guard: 'x' }])],
      ['an unknown handler', site([{ handle: [{ handler: 'constructor' }, app] }])],
      ['routes of an unexpected shape', server({ 0: { match: host('app.example.com'), handle: [app] } })],
    ],
  );

  test('plain sites are written', async () => {
    const plain = site([
      { handle: [{ handler: 'encode' }] },
      { group, match: path('/api/*'), handle: [sub({ handle: [app] })] },
      { group, handle: [sub({ handle: [{ ...app, headers: { request: { set: { Host: ['x'] } } } }] })] },
    ]);
    assert.deepEqual((await served(['caddy'], plain)).names, ['app.example.com/api/', 'app.example.com/']);
    const fallback = { group, handle: [{ handler: 'static_response', abort: true }] };
    const wildcard = [{ group, match: host('a.example.com'), handle: [app] }, fallback];
    const text = server([{ match: host('*.example.com'), handle: [sub(...wildcard)], terminal: true }]);
    assert.deepEqual((await served(['caddy'], text)).names, ['a.example.com/']);
  });
});
