import assert from 'node:assert/strict';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { parse } from 'yaml';
import { examineAgentConfig } from '../../../src/app/cli/agent/config/read-agent-config.ts';
import { validateConfiguration } from '../../../src/control/configuration-file/read-configuration.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runCommand } from '../run-command.ts';
import { RETIRED_ANSWERS } from './retired-answers.ts';

const folder = await tempDir({ after });
let files = 0;

async function written(text: string | Uint8Array): Promise<string> {
  files += 1;
  const path = join(folder, `input-${files}`);
  await writeFile(path, text);
  return path;
}

interface Report {
  readonly dropped: readonly { readonly place: string; readonly why: string }[];
  readonly notes: readonly string[];
  readonly secrets: readonly { readonly place: string }[];
}

async function imported(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  files += 1;
  const file = join(folder, `output-${files}.yaml`);
  const result = await runCommand(['import', ...args, '--file', file, '-o', 'json'], { env });
  assert.ok(result.code === 0 || result.code === 4, result.stderr);
  const text = await readFile(file, 'utf8');
  const report = JSON.parse(result.stdout) as Report;
  return { ...result, text, report, places: report.dropped.map(({ place }) => place) };
}

/** Names of all fields that are set in a module. */
function setFields(module: object): string[] {
  return Object.entries(module).flatMap(([name, value]) => {
    const isUnset = value === null || value === '' || (Array.isArray(value) && value.length === 0);
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isUnset) return [];
    return isMap ? setFields(value).map((inner) => `${name} > ${inner}`) : [name];
  });
}

const dump = await written(
  JSON.stringify(Object.values(RETIRED_ANSWERS).map(({ key, items }) => ({ [key]: items, next_page_uri: null }))),
);
const PLANTED = /planted/;

suite('import of the retired API', () => {
  test('writes a valid file with every module that Postern has, and no secret', async () => {
    const { code, text, report, stdout } = await imported(['ngrok', '--from-file', dump]);
    assert.equal(code, 4);
    assert.deepEqual(validateConfiguration([{ name: 'postern-sites.yaml', text }]), []);
    const file = parse(text);
    const { routes, mutual_tls: mutualTls } = file.https_edges['shop.example.com'];
    assert.deepEqual(mutualTls.certificate_authorities, ['clients']);
    assert.equal(routes['/'].oidc.maximum_duration, 86400);
    assert.deepEqual(routes['/'].ip_restriction.ip_policies, ['office']);
    assert.deepEqual(routes['/'].compression, {});
    assert.deepEqual(routes['/'].circuit_breaker, {
      error_threshold_percentage: 0.2,
      tripped_duration: 120,
      rolling_window: 300,
      num_buckets: 5,
    });
    assert.deepEqual(routes['/team'].oauth.provider.github.teams, ['acme/ops']);
    assert.deepEqual(file.backends.canary.backends, { agents: 90, static: 10 });
    assert.deepEqual(Object.keys(file.ip_policies.office.rules), ['192.0.2.0/24', '192.0.2.66/32']);
    assert.doesNotMatch(`${text}${stdout}`, PLANTED);
    assert.equal(report.secrets.length, 2);
    assert.match(report.notes.join(), /shop\.ngrok\.app:443 belongs to the retired service/);
    assert.deepEqual(routes['/'].request_headers, { add: { 'x-from': 'edge' }, remove: ['x-secret'] });
    assert.deepEqual(routes['/'].response_headers, { add: { 'x-frame-options': 'DENY' } });
    assert.doesNotMatch(report.notes.join(), /changed headers of requests/);
  });

  test('names every field of every module that was dropped', async () => {
    const { places } = await imported(['ngrok', '--from-file', dump]);
    // biome-ignore lint/suspicious/noExplicitAny: recorded answers are looked into field by field
    const [edge] = (RETIRED_ANSWERS['/edges/https']?.items ?? []) as any[];
    const lost = ['webhook_verification', 'saml'];
    const others = ['websocket_tcp_converter', 'traffic_policy', 'policy'];
    let count = 0;
    for (const route of edge.routes) {
      for (const module of [...lost, ...others].filter((name) => route[name] !== null)) {
        for (const field of setFields(route[module])) {
          const place = `https_edges > shop.example.com > routes > ${route.match} > ${module} > ${field}`;
          assert.ok(places.includes(place), place);
          count += 1;
        }
      }
    }
    assert.ok(count > 20, String(count));
    for (const place of [
      'tcp_edges > 1.tcp.ngrok.io:20301 > hostports',
      'reserved_addrs > 1.tcp.ngrok.io:20301 > addr',
    ]) {
      assert.ok(places.includes(place), place);
    }
    assert.ok(places.includes('reserved_domains > shop.example.com > http_endpoint_configuration > id'));
  });

  test('turns off a route whose protection is lost, and only such a route', async () => {
    const { text } = await imported(['ngrok', '--from-file', dump]);
    const { routes } = parse(text).https_edges['shop.example.com'];
    const off = Object.keys(routes).filter((match) => routes[match].backend.enabled === false);
    assert.deepEqual(off.sort(), ['/hook', '/policy', '/rules', '/saml']);
  });

  test('pages through every list, retries after 429 and 503, and sends the key to the base URL only', async (t) => {
    const requests: { path: string; key: string | undefined }[] = [];
    const refused = new Set<string>();
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      requests.push({ path: request.url ?? '', key: request.headers.authorization });
      if (!refused.has(pathname)) {
        refused.add(pathname);
        response.writeHead(refused.size % 2 === 0 ? 429 : 503, { 'retry-after': '0' }).end();
        return;
      }
      answerPage(response, pathname, searchParams.get('before_id'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const fromApi = await imported(['ngrok', '--base-url', base], { NGROK_API_KEY: 'planted-key' });
    assert.match(fromApi.stderr, /read 2 of \/ip_policy_rules/);
    assert.equal(fromApi.text, (await imported(['ngrok', '--from-file', dump])).text);
    assert.ok(requests.every(({ key }) => key === 'Bearer planted-key'));
    assert.ok(requests.some(({ path }) => path.includes('before_id')));
    assert.match(fromApi.report.notes.join(), /the API has no list \/tls_certificates/);
    assert.doesNotMatch(`${fromApi.text}${fromApi.stdout}${fromApi.stderr}`, PLANTED);
  });

  test('rejects a list of which a page is missing', async (t) => {
    const rules = RETIRED_ANSWERS['/ip_policy_rules'] as { items: readonly object[] };
    const [first] = rules.items as readonly { id: string }[];
    let last: readonly [number, object] = [404, {}];
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      const before = searchParams.get('before_id');
      const page = { ip_policy_rules: [first], next_page_uri: `${pathname}?before_id=${first?.id}` };
      if (pathname !== '/ip_policy_rules') return answerPage(response, pathname, before);
      const [status, body] = before === null ? [200, page] : last;
      response.writeHead(status).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const missing = /GET \/ip_policy_rules: page 2 has no list "ip_policy_rules"/;
    for (const [answer, message] of [
      [[404, {}], missing],
      [[410, {}], missing],
      [[200, {}], missing],
      [[200, { ip_policy_rules: null }], missing],
      [[200, { ip_policy_rules: ['x'] }], missing],
      [[200, { ip_policy_rules: [], next_page_uri: 5 }], /next_page_uri is no address/],
    ] as const) {
      last = answer;
      const args = ['import', 'ngrok', '--api-key', 'x', '--base-url', base, '--file', '-'];
      const { code, stdout, stderr } = await runCommand(args);
      assert.equal(code, 1, stdout);
      assert.match(stderr, message);
    }
  });

  test('reports a key that is rejected and an address that is not the API', async (t) => {
    const server = createServer((request, response) => {
      response.writeHead(request.headers.authorization === 'Bearer good' ? 200 : 401).end('<html>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const rows = [
      [1, /GET \/edges\/https: the API key is rejected \(401\)/, ['--api-key', 'bad', '--base-url', base]],
      [1, /not a JSON object: check --base-url/, ['--api-key', 'good', '--base-url', base]],
      [2, /no API key/, ['--base-url', base]],
      [2, /must be https/, ['--api-key', 'x', '--base-url', 'http://api.example.com']],
    ] as const;
    for (const [code, message, args] of rows) {
      const result = await runCommand(['import', 'ngrok', ...args, '--file', '-']);
      assert.equal(result.code, code, result.stderr);
      assert.match(result.stderr, message);
    }
  });
});

/** One item per page. The link to the next page names another host, which must not be asked. */
function answerPage(response: ServerResponse, pathname: string, before: string | null): void {
  const { key = '', items = [] } = RETIRED_ANSWERS[pathname] ?? {};
  if (items.length === 0) {
    response.writeHead(404).end('{}');
    return;
  }
  const at = before === null ? 0 : items.findIndex((item) => (item as { id: string }).id === before) + 1;
  const { id } = items[at] as { id: string };
  const next = at + 1 < items.length ? `https://evil.example.com${pathname}?before_id=${id}&limit=1` : null;
  response.writeHead(200).end(JSON.stringify({ [key]: [items[at]], uri: 'x', next_page_uri: next }));
}

const NGROK_2 = `version: "2"
authtoken: planted_token
region: eu
web_addr: 127.0.0.1:4040
tunnels:
  web:
    proto: http
    addr: 3000
    hostname: app.example.com
    compression: true
    ip_restriction: {allow_cidrs: [192.0.2.0/24]}
    circuit_breaker: 0.5
  locked: {proto: http, addr: 3001, basic_auth: ["bob:password of bob"]}
  login:
    proto: http
    addr: https://localhost:8443
    domain: login.example.com
    oidc: {issuer_url: "https://accounts.example.com", client_id: a, client_secret: s, allow_domains: [example.com]}
  ssh: {proto: tcp, addr: 22, remote_addr: "1.tcp.ngrok.io:20301"}
  group: {labels: [app=shop], addr: 3000}
  bad: {proto: gopher, addr: 1}
`;

const NGROK_3 = `version: 3
agent: {authtoken: planted_token, web_addr: false}
endpoints:
  - name: web
    url: https://app.example.com
    upstream: {url: 3000, protocol: http1}
  - name: guarded
    url: https://guarded.example.com
    upstream: {url: 3001}
    traffic_policy: {on_http_request: [{actions: [{type: deny}]}]}
  - name: ssh
    url: tcp://1.tcp.ngrok.io:20301
    upstream: {url: "tcp://localhost:22"}
  - url: https://api.internal
    upstream: {url: 9}
  - name: private
    url: https://private.example.com
    bindings: [internal]
    upstream: {url: 9}
  - name: path
    url: https://app.example.com/path
    upstream: {url: 9}
`;

const FRPC = `serverAddr = "frps.example.com"
auth.token = "planted-token"

[[proxies]]
name = "web"
type = "http"
localPort = 80
customDomains = ["a.example.com", "b.example.com"]
locations = ["/", "/pic"]
hostHeaderRewrite = "example.com"
requestHeaders.set.x-from-where = "frp"

[[proxies]]
name = "locked"
type = "http"
localPort = 81
customDomains = ["c.example.com"]
httpUser = "admin"
httpPassword = "planted-password"

[[proxies]]
name = "mail"
type = "https"
localIP = "10.0.0.5"
localPort = 8443
customDomains = ["mail.example.com"]

[[proxies]]
name = "ssh"
type = "tcp"
localPort = 22
remotePort = 6001
transport.bandwidthLimit = "1MB"

[[proxies]]
name = "dns"
type = "udp"
localPort = 53

[[proxies]]
name = "hidden"
type = "stcp"
secretKey = "planted-secret"
localPort = 22

[[proxies]]
name = "converted"
type = "https"
customDomains = ["d.example.com"]
[proxies.plugin]
type = "https2http"
localAddr = "127.0.0.1:80"
crtPath = "./server.crt"

[[visitors]]
name = "v"
type = "stcp"
serverName = "hidden"
`;

const FRPC_INI = `[common]
server_addr = frps.example.com
token = planted-token

[ssh]
type = tcp
local_ip = 127.0.0.1
local_port = 22
remote_port = 6001

[web]
type = http
local_port = 80
custom_domains = a.example.com, b.example.com

[v]
role = visitor
type = stcp
`;

suite('import of agents', () => {
  const rows: readonly (readonly [string, string, string, readonly string[], readonly string[]])[] = [
    [
      'ngrok-agent',
      'ngrok.yml, version 2',
      NGROK_2,
      ['web', 'locked', 'login', 'ssh', 'group'],
      ['authtoken', 'region', 'tunnels > bad'],
    ],
    [
      'ngrok-agent',
      'ngrok.yml, version 3',
      NGROK_3,
      ['web', 'ssh'],
      [
        'agent > authtoken',
        'endpoints > web > upstream > protocol',
        'endpoints > guarded',
        'endpoints > endpoint-4 > url',
        'endpoints > private',
        'endpoints > path > url',
        'endpoints > ssh > url',
      ],
    ],
    [
      'frp',
      'frpc.toml',
      FRPC,
      ['web', 'web-2', 'mail', 'ssh', 'converted'],
      [
        'serverAddr',
        'auth > token',
        'proxies > web > locations',
        'proxies > locked > httpUser',
        'proxies > locked',
        'proxies > ssh > transport > bandwidthLimit',
        'proxies > dns > localPort',
        'proxies > hidden > secretKey',
        'proxies > converted > plugin > crtPath',
        'visitors > v > serverName',
      ],
    ],
    ['frp', 'frpc.ini', FRPC_INI, ['ssh', 'web', 'web-2'], ['serverAddr', 'token', 'visitors > v > role']],
  ];
  for (const [source, name, text, tunnels, dropped] of rows) {
    test(`carries over what the agent has, and reports the rest: ${name}`, async () => {
      const result = await imported([source, await written(text), '--server-addr', 'gateway.example.com:7444']);
      assert.equal(result.code, 4);
      assert.deepEqual(examineAgentConfig(result.text, 'postern-agent.yaml').ok, true, result.text);
      const file = parse(result.text);
      assert.deepEqual(Object.keys(file.tunnels), tunnels);
      assert.equal(file.server_addr, 'gateway.example.com:7444');
      for (const place of dropped) assert.ok(result.places.includes(place), `${place} in ${result.places.join('\n')}`);
      assert.doesNotMatch(`${result.text}${result.stdout}`, PLANTED);
    });
  }

  test('translates hosts, ports and logins', async () => {
    const ngrok = parse((await imported(['ngrok-agent', await written(NGROK_2)])).text);
    assert.deepEqual(ngrok.tunnels.login.access, { allow_email_domains: ['example.com'] });
    assert.equal(ngrok.tunnels.ssh.remote_port, 20301);
    assert.equal(ngrok.inspect_addr, '127.0.0.1:4040');
    const { text } = await imported(['frp', await written(FRPC)]);
    const frp = parse(text);
    assert.deepEqual(frp.tunnels['web-2'], {
      proto: 'http',
      addr: '127.0.0.1:80',
      host_header: 'example.com',
      request_header: { add: ['x-from-where: frp'], remove: ['x-from-where'] },
      domain: 'b.example.com',
    });
    assert.deepEqual(frp.tunnels.mail, { proto: 'tls', addr: '10.0.0.5:8443', domain: 'mail.example.com' });
    assert.deepEqual(frp.tunnels.converted, { proto: 'http', addr: '127.0.0.1:80', domain: 'd.example.com' });
  });
});

suite('import of Caddy', () => {
  test('writes sites that forward, and reports the rest', async () => {
    const { text, report, code } = await imported(['caddy', join(import.meta.dirname, 'caddy-sites.json')]);
    assert.equal(code, 4);
    assert.deepEqual(validateConfiguration([{ name: 'postern-sites.yaml', text }]), []);
    const { https_edges: edges, backends } = parse(text);
    assert.deepEqual(edges['www.example.com'].routes['/'].compression, {});
    assert.deepEqual(backends['10.0.0.1:8080, 10.0.0.2:8080'].kind, 'failover');
    assert.equal(backends['backend.internal:8443'].tls.enabled, true);
    assert.equal(edges['api.example.com'].routes['/health'].match_type, 'exact_path');
    assert.equal(edges['api.example.com'].routes['/'].backend.backend, 'backend.internal:8443');
    assert.deepEqual(edges['api.example.com'].routes['/old/'].rewrite.rules, [
      { match_type: 'path_prefix', match: '/old/', to: '/' },
    ]);
    const reasons = report.dropped.map(({ place, why }) => `${place}: ${why}`).join('\n');
    for (const reason of [/authentication > providers/, /not method/, /no host name/, /X-Frame-Options/]) {
      assert.match(reasons, reason);
    }
  });

  test('carries redirects to another site, and paths that are rewritten', async () => {
    const proxy = { handler: 'reverse_proxy', upstreams: [{ dial: '127.0.0.1:1' }] };
    const redir = (location: string, status_code = 301) => [
      { handler: 'static_response', status_code, headers: { Location: [location] } },
    ];
    const on = (name: string, routes: object[]) => ({
      match: [{ host: [`${name}.example.com`] }],
      handle: [{ handler: 'subroute', routes }],
      terminal: true,
    });
    const strip = { handler: 'rewrite', strip_path_prefix: '/api' };
    const path = (...paths: string[]) => [{ path: paths }];
    const uri = { handler: 'rewrite', uri: '/index.html' };
    const odd = { handler: 'rewrite', uri: '/a{http.request.uri.path}' };
    const routes = [
      on('www', [{ handle: redir('https://example.com{http.request.uri}') }]),
      on('path', [{ match: path('/old/*'), handle: redir('https://example.com{http.request.uri.path}', 308) }]),
      on('see', [{ handle: redir('https://example.com{http.request.uri}', 303) }]),
      on('host', [{ handle: redir('https://{http.request.host}{http.request.uri}') }]),
      on('api', [{ match: path('/api/*'), handle: [strip, proxy] }]),
      on('spa', [{ handle: [uri, proxy] }]),
      on('whole', [{ handle: [strip, proxy] }]),
      on('odd', [{ handle: [odd, proxy] }]),
      on('twice', [{ match: path('/api/*'), handle: [strip, uri, proxy] }]),
    ];
    const config = { apps: { http: { servers: { s: { listen: [':443'], routes } } } } };
    const { text } = await imported(['caddy', await written(JSON.stringify(config))]);
    assert.deepEqual(validateConfiguration([{ name: 'postern-sites.yaml', text }]), []);
    const { https_edges: edges } = parse(text);
    const route = (name: string, match = '/') => edges[`${name}.example.com`].routes[match];
    const rule = (match_type: string, match: string, to: string, status_code?: number) => [
      { match_type, match, to, ...(status_code !== undefined && { status_code }) },
    ];
    assert.deepEqual(route('www').redirect.rules, rule('path_prefix', '/', 'https://example.com/', 301));
    assert.deepEqual(
      route('path', '/old/').redirect.rules,
      rule('path_prefix', '/old/', 'https://example.com/old/?', 308),
    );
    assert.deepEqual(route('api', '/api/').rewrite.rules, rule('path_prefix', '/api/', '/'));
    assert.equal(route('api', '/api/').backend.backend, '127.0.0.1:1');
    assert.deepEqual(route('spa').rewrite.rules, rule('regex', '^/', '/index.html'));
    // What has no such rule is closed.
    for (const closed of [route('see'), route('host'), route('whole'), route('odd'), route('twice', '/api/')])
      assert.deepEqual([closed.backend, closed.rewrite, closed.redirect], [undefined, undefined, undefined]);
  });

  test('carries changed headers where the modules do the same', async () => {
    const proxy = {
      ...{ handler: 'reverse_proxy', upstreams: [{ dial: '127.0.0.1:1' }] },
      headers: {
        request: { set: { Host: ['{http.reverse_proxy.upstream.hostport}'], 'X-From': ['caddy'] } },
        response: { delete: ['Server'], add: { 'X-Costs': ['$5'] } },
      },
    };
    const headers = {
      handler: 'headers',
      request: { delete: ['X-User'], add: { 'X-Seen': ['1'] } },
      response: { deferred: true, set: { 'X-Frame-Options': ['DENY'] } },
    };
    const early = { handler: 'headers', response: { set: { 'X-Early': ['1'] } } };
    const routes = [{ match: [{ host: ['a.example.com'] }], handle: [headers, early, proxy], terminal: true }];
    const config = { apps: { http: { servers: { s: { listen: [':443'], routes } } } } };
    const { text, report } = await imported(['caddy', await written(JSON.stringify(config))]);
    assert.deepEqual(validateConfiguration([{ name: 'postern-sites.yaml', text }]), []);
    const route = parse(text).https_edges['a.example.com'].routes['/'];
    assert.equal(route.backend.backend, '127.0.0.1:1');
    assert.deepEqual(route.request_headers, {
      add: { 'x-seen': '1', host: '127.0.0.1:1', 'x-from': 'caddy' },
      remove: ['x-user', 'host', 'x-from'],
    });
    assert.deepEqual(route.response_headers.remove, ['x-frame-options', 'server']);
    assert.match(report.dropped.map(({ place }) => place).join(), /X-Early/);
  });

  test('a path or host that was protected is not served by another route', async () => {
    const { text } = await imported(['caddy', join(import.meta.dirname, 'caddy-sites.json')]);
    const { https_edges: edges } = parse(text);
    assert.equal(edges['admin.example.com'].routes['/'].backend, undefined);
    assert.equal(edges['post.example.com'].routes['/'].backend, undefined);
    const proxy = { handler: 'reverse_proxy', upstreams: [{ dial: '127.0.0.1:1' }] };
    const deny = {
      match: [{ remote_ip: { ranges: ['10.0.0.0/8'] } }],
      handle: [{ handler: 'static_response', status_code: 403 }],
    };
    const routes = [
      { match: [{ host: ['x.example.com'] }], handle: [{ handler: 'subroute', routes: [deny, { handle: [proxy] }] }] },
    ];
    const config = { apps: { http: { servers: { s: { listen: [':443'], routes: routes as object[] } } } } };
    const bound = structuredClone(config);
    bound.apps.http.servers.s = {
      listen: ['10.0.0.1:443'],
      routes: [{ match: [{ host: ['x.example.com'] }], handle: [proxy] }],
    };
    const onOneAddress = await imported(['caddy', await written(JSON.stringify(bound))]);
    assert.equal(parse(onOneAddress.text).https_edges['x.example.com'].routes['/'].backend, undefined);
    const denied = await imported(['caddy', await written(JSON.stringify(config))]);
    assert.equal(parse(denied.text).https_edges['x.example.com'].routes['/'].backend, undefined);
  });
});

test('the certificate of a tls tunnel is reported: the agent passes TLS through', async () => {
  const text = 'version: 2\ntunnels:\n  t: {proto: tls, addr: 443, domain: t.example.com, crt: a.crt, key: a.key}\n';
  const { report } = await imported(['ngrok-agent', await written(text)]);
  assert.deepEqual(
    report.dropped.map(({ place, why }) => [place, /passes TLS through.*to the service at addr/.test(why)]),
    [
      ['tunnels > t > crt', true],
      ['tunnels > t > key', true],
    ],
  );
});

suite('bad input', () => {
  test('is rejected with file and line, and writes nothing', async () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const name of 'bcdefg') {
      const before = String.fromCharCode(name.charCodeAt(0) - 1);
      bomb.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(', ')}]`);
    }
    const deep = '['.repeat(20_000);
    const rows: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
      ['ngrok-agent', 'tunnels:\n  a: [\n', /input-\d+:\d: is not valid YAML/],
      ['ngrok-agent', 'tunnels: {}\n\ttab: x\n', /input-\d+:2: is not valid YAML/],
      [
        'ngrok-agent',
        'tunnels:\n  web:\n    addr: 80\n   proto: http\n',
        /input-\d+:4: is not valid YAML \(column 1\): the line is indented by another number of spaces/,
      ],
      [
        'ngrok-agent',
        'authtoken: !hunter2\n',
        /input-\d+:1: is not valid YAML \(column 12\): Unresolved tag: a value [^2]*$/,
      ],
      ['ngrok-agent', bomb.join('\n'), /too many aliases/],
      ['ngrok-agent', deep, /nested (too deeply|more than)|not valid YAML/],
      ['ngrok-agent', '', /empty or has no fields/],
      ['ngrok-agent', 'version: 9\n', /unknown version/],
      ['ngrok-agent', Buffer.from('version: 2\n\x00\x01'), /input-\d+:2: is not a text file/],
      ['ngrok-agent', Buffer.from('version: 2\na: \xff\n', 'latin1'), /input-\d+:2: is not encoded as UTF-8/],
      ['ngrok-agent', Buffer.from('\ufeffversion: 2\n', 'utf16le'), /encoded as UTF-16/],
      ['frp', 'a = 1\nb = = 2\n', /input-\d+:2: is not valid TOML/],
      ['frp', '[common]\nserver_addr = x\n[ssh]\nnonsense\n', /input-\d+:4: must be a section/],
      ['caddy', '{\n "apps": {,\n}', /input-\d+:2: is not valid JSON/],
      ['caddy', 'app.example.com {\n  reverse_proxy :3000\n}\n', /is not valid JSON: .*caddy adapt --config Caddyfile/],
      ['caddy', '[1]', /empty or has no fields/],
      ['caddy', '{"apps": {}}', /no "apps\.http\.servers": .*caddy adapt/],
      ['caddy', `${deep}${']'.repeat(20_000)}`, /nested more than 64 levels deep/],
    ];
    const file = join(folder, 'never.yaml');
    for (const [source, text, message] of rows) {
      const { code, stderr } = await runCommand(['import', source, await written(text), '--file', file]);
      assert.equal(code, 1, stderr);
      assert.match(stderr, message);
    }
    const { code, stderr } = await runCommand([
      'import',
      'ngrok',
      '--from-file',
      await written('{"x": []}'),
      '--file',
      file,
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /has no list of the retired API/);
    await assert.rejects(stat(file), /ENOENT/);
  });

  test('a command line that cannot be meant is explained', async () => {
    for (const [message, args] of [
      [/Did you mean "ngrok"/, ['ngrk']],
      [/takes one file/, ['frp']],
      [/use --from-file FILE/, ['ngrok', 'dump.json']],
      [/--api-key cannot be used with postern import frp/, ['frp', 'x', '--api-key', 'y']],
      [/--output must be/, ['frp', 'x', '-o', 'id']],
    ] as const) {
      const { code, stderr } = await runCommand(['import', ...args]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
  });

  test('never replaces a file without --force, and lets only its owner read it', async () => {
    const input = await written(FRPC_INI);
    const file = join(folder, 'postern-agent.yaml');
    await writeFile(file, 'mine');
    const first = await runCommand(['import', 'frp', input, '--file', file]);
    assert.equal(first.code, 1);
    assert.match(first.stderr, /exists: name another file with --file, or replace it with --force/);
    assert.equal(await readFile(file, 'utf8'), 'mine');
    const forced = await runCommand(['import', 'frp', input, '--file', file, '--force']);
    assert.equal(forced.code, 4);
    assert.match(forced.stdout, /^Not carried over \(\d+\):\n {2}serverAddr: .*\n/);
    assert.match(forced.stdout, /Next: postern config check --config/);
    await mkdir(join(folder, 'fresh'));
    const fresh = join(folder, 'fresh', 'postern-agent.yaml');
    await runCommand(['import', 'frp', input, '--file', fresh]);
    assert.equal((await stat(fresh)).mode & 0o777, 0o600);
  });

  test('names of the input do not control the terminal', async () => {
    const input = await written(
      JSON.stringify({ https_edges: [{ hostports: ['a\u001b[2J.example.com:443'], 'x\u009b': 1 }] }),
    );
    const { stdout, stderr } = await runCommand(['import', 'ngrok', '--from-file', input, '--file', '-'], {
      columns: 100,
    });
    assert.doesNotMatch(`${stdout}${stderr}`, /(?!\n)\p{Cc}/u);
  });
});
