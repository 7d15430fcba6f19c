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
  const { tunnels, https_edges: edges } = parse(await readFile(file, 'utf8'));
  const names = Object.keys(tunnels ?? {});
  // biome-ignore lint/suspicious/noExplicitAny: written files are looked into field by field
  for (const [host, { routes }] of Object.entries<any>(edges ?? {})) {
    // biome-ignore lint/suspicious/noExplicitAny: as above
    for (const [match, { backend }] of Object.entries<any>(routes ?? {})) {
      if (backend !== undefined && backend.enabled !== false) names.push(`${host}${match}`);
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
  `base: &base {basic_auth: ["ana:password"]}\nversion: 2\ntunnels:\n  a:\n    proto: http\n    addr: 1\n    domain: a.example.com\n    ${extra}\n`;
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
        'constructor: x',
        'request_header: {remove: [x-remote-user]}',
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
    ],
  );

  test('a plain route is written', async () => {
    const others = { ip_restrictions: [{ id: 'ipx_1', type: 'endpoints', enforced: false, ip_policies: [] }] };
    assert.deepEqual((await served(['ngrok', '--from-file'], dump({}, {}, others))).names, ['a.example.com/']);
  });
});
