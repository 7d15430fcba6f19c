import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent, createServer, request as requestHttp } from 'node:http';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { missingBalancer, startCaddy } from '../../support/balancers.ts';
import { type EdgeAnswer, EdgeWorld } from '../../support/edge-world.ts';
import { listenOn } from '../../support/listen-on.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { operatorEnv, runCommand } from '../run-command.ts';

const folder = await tempDir({ after });
let files = 0;

/** The file that an import writes. */
async function imported(source: string, text: string): Promise<{ code: number; file: string; report: string }> {
  files += 1;
  const [input, file] = [join(folder, `input-${files}`), join(folder, `output-${files}.yaml`)];
  await writeFile(input, text);
  const { code, stdout, stderr } = await runCommand(['import', source, input, '--file', file]);
  assert.ok(code === 0 || code === 4, stderr);
  return { code, file, report: stdout };
}

const skip = missingBalancer('caddy');

suite('a site that was imported from Caddy serves nobody more than Caddy did', { skip }, async () => {
  if (skip !== false) return;
  const t = { after };
  const world = await EdgeWorld.open(t);
  /** The service says what a service may decide about access by: the headers. */
  const service = (name: string): Promise<number> =>
    listenOn(
      t,
      createServer(({ headers, url }, response) => {
        const told = ['host', 'x-user', 'x-role', 'x-forwarded-host', 'x-forwarded-proto'].map((each) => headers[each]);
        response.end(JSON.stringify([name, url, ...told.map((each) => each ?? null)]));
      }),
    );
  const [app, gate] = [await service('app'), await service('gate')];
  const up = `127.0.0.1:${app}`;
  const gateway = (path: string): string => `handle ${path} {\nreverse_proxy 127.0.0.1:${gate}\n}`;
  const rest = `handle {\nreverse_proxy ${up}\n}`;
  const plain = `reverse_proxy ${up}`;
  /** Blocks of a Caddyfile, and whether anything of the app must be served: not all may be closed. */
  const cases: readonly (readonly [name: string, block: string, isServed: boolean])[] = [
    ['a login gateway for a path', `${gateway('/admin/*')}\n${rest}`, true],
    ['a login gateway for a path without a slash', `${gateway('/admin*')}\n${rest}`, true],
    ['a login gateway for one page', `${gateway('/admin')}\n${rest}`, true],
    ['a login gateway in capitals', `${gateway('/Admin/*')}\n${rest}`, true],
    ['paths inside each other', `${gateway('/admin/public/*')}\n${gateway('/admin/*')}\n${rest}`, true],
    ['a path in two cases', `${gateway('/admin/*')}\nhandle /ADMIN/* {\n${plain}\n}\n${rest}`, true],
    ['a wider path in capitals', `${gateway('/A*')}\nhandle /admin/* {\n${plain}\n}\n${rest}`, true],
    ['a folded letter', `${gateway('/backup/*')}\n${rest}`, true],
    ['a long path', `${gateway('/administration-of-this-site/with/a/long/path/*')}\n${rest}`, true],
    ['other characters', `${gateway('/a.b+c$1/*')}\n${rest}`, true],
    ['a redirect for a path', `redir /admin/* https://login.example.com{uri}\n${plain}`, true],
    ['another redirect for a path', `redir /admin/* /login\n${plain}`, true],
    ['an answer for a path', `handle /admin/* {\nrespond "closed"\n}\n${rest}`, true],
    ['files for a path', `handle /admin/* {\nroot * /srv\nfile_server\n}\n${rest}`, true],
    ['a refusal for a path', `respond /admin/* 403\n${plain}`, false],
    ['a path that is stripped', `handle_path /admin/* {\nreverse_proxy 127.0.0.1:${gate}\n}\n${rest}`, true],
    ['a host for the service', `reverse_proxy ${up} {\nheader_up Host inner.example.com\n}`, true],
    ['a port as host', `reverse_proxy ${up} {\nheader_up Host inner.example.com:8080\n}`, true],
    ['the host of the upstream', `reverse_proxy ${up} {\nheader_up Host {upstream_hostport}\n}`, true],
    ['a host that is none', `reverse_proxy ${up} {\nheader_up Host "a b"\n}`, false],
    ['its own host', `reverse_proxy ${up} {\nheader_up Host {host}\n}`, true],
    ['a fixed forwarded host', `reverse_proxy ${up} {\nheader_up X-Forwarded-Host inner.example.com\n}`, false],
    ['a fixed scheme', `reverse_proxy ${up} {\nheader_up X-Forwarded-Proto http\n}`, false],
    ['a fixed address', `reverse_proxy ${up} {\nheader_up X-Forwarded-For 192.0.2.1\n}`, false],
    ['a fixed user', `reverse_proxy ${up} {\nheader_up X-User nobody\n}`, true],
    ['a removed user', `request_header -X-User\n${plain}`, true],
    ['a host before the proxy', `request_header Host inner.example.com\n${plain}`, true],
    ['path_regexp', `@a path_regexp (?i)^/admin/\nrespond @a 403\n${plain}`, false],
    ['path_regexp to a gateway', `@a path_regexp ^/adm[i]n/\nreverse_proxy @a 127.0.0.1:${gate}\n${plain}`, false],
    ['not', `@a not path /x\nreverse_proxy @a 127.0.0.1:${gate}\n${plain}`, false],
    ['header', `@a not header X-User root\nrespond @a 403\n${plain}`, false],
    ['header_regexp', `@a header_regexp X-User ^r\nrespond @a 403\n${plain}`, false],
    ['method', `@a method POST\nrespond @a 403\n${plain}`, false],
    ['remote_ip', `@a not remote_ip 192.0.2.0/24\nrespond @a 403\n${plain}`, false],
    ['query', `@a query key=1\nrespond @a 403\n${plain}`, false],
    ['protocol', `@a protocol http\nrespond @a 403\n${plain}`, false],
    ['expression', `@a \`{path} == "/x"\`\nrespond @a 403\n${plain}`, false],
    ['file', `root * /srv\n@a not file\nrespond @a 403\n${plain}`, false],
    ['a pattern in the middle', `@a path /a*n/*\nrespond @a 403\n${plain}`, false],
    ['a pattern of characters', `@a path /a[d]min\nreverse_proxy @a 127.0.0.1:${gate}\n${plain}`, false],
    ['a question mark', `@a path /adm?n\nreverse_proxy @a 127.0.0.1:${gate}\n${plain}`, false],
    ['an escape', `@a path /%61dmin/*\nreverse_proxy @a 127.0.0.1:${gate}\n${plain}`, false],
    ['a path without a slash', `@a path admin*\nreverse_proxy @a 127.0.0.1:${gate}\n${plain}`, false],
    ['two slashes', `@a path //admin/*\nreverse_proxy @a 127.0.0.1:${gate}\n${plain}`, false],
    ['a password', `basicauth {\nana $2a$14$6p2kT6CaymvtOLwnCEFXg.sN5YuET1fK/6chjAAvrXSefDyNCO39S\n}\n${plain}`, false],
    ['forward_auth', `forward_auth 127.0.0.1:${gate} {\nuri /check\n}\n${plain}`, false],
    ['a smaller page', `${gateway('/')}\n${rest}`, false],
  ];
  const caddyfile = cases.map(([, block], at) => `case-${at}.localhost {\n${block}\n}`).join('\n');
  const source = join(folder, 'Caddyfile');
  await writeFile(source, `{\nauto_https off\nadmin off\n}\n${caddyfile}\n`);
  const adapted = JSON.parse(execFileSync('caddy', ['adapt', '--config', source], { encoding: 'utf8', stdio: 'pipe' }));
  const { srv0: server } = adapted.apps.http.servers;
  const { tls_connection_policies: _, ...own } = server;
  const running = structuredClone(adapted);
  running.apps.http.servers.srv0 = { ...own, listen: ['127.0.0.1:PORT'] };
  const caddyPort = await startCaddy(t, JSON.stringify(running));

  const names = ['admin', 'ADMIN', 'aDmin', '%61dmin', '%41DMIN', 'a', 'backup', 'BACKUP', 'bac%E2%84%AAup'];
  const others = ['a.b+c$1', 'A.B%2bC%241', 'administration-of-this-site%2Fwith/a/LONG/path'];
  const ends = ['', '/', '/x', '%2Fx', '%2fx', '/PUBLIC/x', '/public%2Fx'];
  const all = [
    ...['/', '/x', '/X', '/%41', '//admin/x', '/./admin/x', '/x/../admin/x', '/%5Cadmin/x', '/admin;a/x', '/login'],
    ...[...names, ...others].flatMap((name) => ends.map((end) => `/${name}${end}`)),
  ];

  const askCaddy = (host: string, path: string, headers: Readonly<Record<string, string>>) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = requestHttp(
        { port: caddyPort, path, headers: { host, ...headers }, agent: plainAgent },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      sent.on('error', reject).end();
    });

  const agent = world.agent({ maxSockets: 4 } as object);
  const plainAgent = new Agent({ keepAlive: true, maxSockets: 4 });
  t.after(() => {
    agent.destroy();
    plainAgent.destroy();
  });
  /** As a browser would, inside the site. */
  async function askPostern(
    host: string,
    path: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<EdgeAnswer> {
    let [answer, next] = [await world.ask(host, path, { headers, agent }), path];
    for (let count = 0; count < 5; count += 1) {
      const [, inside] = new RegExp(`^https://${host}(?::\\d+)?(/.*)$`).exec(String(answer.headers['location'])) ?? [];
      if (inside === undefined || inside === next) break;
      [answer, next] = [await world.ask(host, inside, { headers, agent }), inside];
    }
    return answer;
  }

  for (const [at, [name, , isServed]] of cases.entries()) {
    test(name, async () => {
      const host = `case-${at}.localhost`;
      const routes = server.routes.filter(({ match }: { match: { host: string[] }[] }) => match[0]?.host[0] === host);
      assert.equal(routes.length, 1);
      const one = { apps: { http: { servers: { srv0: { ...server, routes } } } } };
      const { file, code } = await imported('caddy', JSON.stringify(one));
      const applied = await runCommand(['apply', '-f', file, '--yes'], { env: operatorEnv(world.world) });
      assert.equal(applied.code, 0, applied.stderr);
      const headers = { 'x-user': 'root', 'x-role': 'ops' };
      const served = await Promise.all(
        all.map(async (path) => {
          const answer = await askPostern(host, path, headers);
          if (answer.status !== 200 || !answer.text.startsWith('["app"')) return [];
          const inCaddy = await askCaddy(host, path, headers);
          assert.equal(inCaddy.status, 200, `${path}: ${answer.text}, and Caddy ${inCaddy.status}`);
          // Here Caddy has no TLS. Both set the scheme and the host by themselves.
          const told = (text: string): readonly string[] => {
            const [service, , name, user, role] = JSON.parse(text);
            return [service, name.replace(/:\d+$/, ''), user, role];
          };
          assert.deepEqual(told(answer.text), told(inCaddy.text), path);
          return [path];
        }),
      );
      const count = served.flat().length;
      assert.equal(count > 0, isServed, `${count} requests were served`);
      if (!isServed) assert.equal(code, 4);
    });
  }
});

interface Proxy {
  readonly name: string;
  readonly domain: string;
  readonly locations: readonly string[];
  readonly hasPassword: boolean;
  readonly isOdd: boolean;
}

const HOSTS = ['a.example.com', 'b.example.com', '*.example.com'];
const PATHS = ['/', '/admin', '/admin/x', '/x'];
const someProxies = fc
  .array(
    fc.record({
      domain: fc.constantFrom(...HOSTS),
      locations: fc.constantFrom([], ['/'], ['/admin'], ['/', '/admin'], ['/x']),
      hasPassword: fc.boolean(),
      isOdd: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((proxies) => proxies.map((each, at): Proxy => ({ ...each, name: `p${at}`, isOdd: each.isOdd && at % 2 === 1 })));

/**
 * The proxy that frps asks, as vhost/router.go of frp 0.65 does: the longest location of the host, then of the
 * wildcard. The first of two with the same location has it.
 */
function askedByFrp(proxies: readonly Proxy[], host: string, path: string): Proxy | null {
  for (const domain of [host, host.replace(/^[^.]+/, '*')]) {
    const found = proxies
      .filter((each) => each.domain === domain)
      .flatMap((proxy) =>
        (proxy.locations.length === 0 ? [''] : proxy.locations).map((location) => ({ proxy, location })),
      )
      .filter(({ location }) => path.startsWith(location))
      .toSorted((one, other) => other.location.length - one.location.length)[0];
    if (found !== undefined) return found.proxy;
  }
  return null;
}

const toml = ({ name, domain, locations, hasPassword, isOdd }: Proxy, at: number): string =>
  [
    `[[proxies]]\nname = "${name}"\ntype = "http"\nlocalPort = ${8_000 + at}\ncustomDomains = ["${domain}"]`,
    `locations = ${JSON.stringify(locations)}`,
    ...(hasPassword ? ['httpUser = "ana"\nhttpPassword = "secret"'] : []),
    ...(isOdd ? ['somethingNew = true'] : []),
  ].join('\n');

const ini = ({ name, domain, locations, hasPassword, isOdd }: Proxy, at: number): string =>
  [
    `[${name}]\ntype = http\nlocal_port = ${8_000 + at}\ncustom_domains = "${domain}"`,
    ...(locations.length === 0 ? [] : [`locations = ${locations.join(',')}`]),
    ...(hasPassword ? ['http_user = ana\nhttp_pwd = secret'] : []),
    ...(isOdd ? ['something_new = true'] : []),
  ].join('\n');

suite('tunnels that were imported serve nobody more than before', () => {
  for (const [form, start, written] of [
    ['frpc.toml', 'serverAddr = "x"', toml],
    ['frpc.ini', '[common]\nserver_addr = x', ini],
  ] as const)
    test(`proxies of frp with locations, passwords and wildcards: ${form}`, async () => {
      let served = 0;
      await fc.assert(
        fc.asyncProperty(someProxies, async (proxies) => {
          const { file } = await imported('frp', [start, ...proxies.map(written)].join('\n'));
          const tunnels = Object.values<{ domain: string; addr: string }>(
            parse(await readFile(file, 'utf8')).tunnels ?? {},
          );
          for (const host of ['a.example.com', 'b.example.com', 'c.example.com']) {
            const domains = [host, host.replace(/^[^.]+/, '*')];
            const tunnel = domains.flatMap((domain) => tunnels.filter((each) => each.domain === domain))[0];
            for (const path of tunnel === undefined ? [] : PATHS) {
              served += 1;
              const before = askedByFrp(proxies, host, path);
              assert.equal(tunnel?.addr, `127.0.0.1:${8_000 + proxies.indexOf(before as Proxy)}`, `${host}${path}`);
              assert.equal(before?.hasPassword, false);
            }
          }
        }),
        { numRuns: 150 },
      );
      assert.ok(served > 0);
    });

  test('a second proxy of a path with a password leaves out the first', async () => {
    const first = { name: 'site', domain: 'A.example.com', locations: [], hasPassword: false, isOdd: false };
    const second = { name: 'admin', domain: 'a.example.com', locations: ['/admin'], hasPassword: true, isOdd: false };
    for (const [start, written] of [
      ['serverAddr = "x"', toml],
      ['[common]\nserver_addr = x', ini],
    ] as const) {
      const { code, file, report } = await imported('frp', [start, written(first, 0), written(second, 1)].join('\n'));
      assert.equal(code, 4);
      assert.match(report, /proxies > site: not written, because proxies > admin is not, and this tunnel would serve/);
      assert.deepEqual(parse(await readFile(file, 'utf8')).tunnels, {});
    }
  });

  const open = toml({ name: 'site', domain: 'a.example.com', locations: [], hasPassword: false, isOdd: false }, 0);
  for (const [name, text, count] of [
    ['other files', `includes = ["other.toml"]\n${open}`, 0],
    [
      'a subdomain of the server',
      `${open}\n[[proxies]]\nname = "b"\ntype = "http"\nlocalPort = 1\nsubdomain = "a"\nhttpUser = "x"`,
      0,
    ],
    [
      'another subdomain',
      `${open}\n[[proxies]]\nname = "b"\ntype = "http"\nlocalPort = 1\nsubdomain = "b"\nhttpUser = "x"`,
      1,
    ],
    [
      'a host that is a template',
      `${open}\n[[proxies]]\nname = "b"\ntype = "http"\nlocalPort = 1\ncustomDomains = ["{{ .Envs.H }}"]\nhttpUser = "x"`,
      0,
    ],
    [
      'a plugin',
      `${open}\n[[proxies]]\nname = "b"\ntype = "http"\ncustomDomains = ["a.example.com"]\nlocations = ["/x"]\n[proxies.plugin]\ntype = "static_file"\nhttpUser = "x"`,
      0,
    ],
    ['a name twice', `${open}\n${open}`, 0],
    [
      'a proxy that is not started',
      `${open}\n[[proxies]]\nname = "b"\ntype = "http"\nlocalPort = 1\ncustomDomains = ["a.example.com"]\nhttpUser = "x"\nenabled = false`,
      1,
    ],
    ['the PROXY protocol', `${open}\ntransport.proxyProtocolVersion = "v2"`, 0],
    ['a header', `${open}\nrequestHeaders.set.x-user = "nobody"`, 1],
    ['a header of another form', `${open}\nrequestHeaders.add.x-user = "nobody"`, 0],
  ] as const)
    test(`a file of frp with ${name} has ${count} tunnels`, async () => {
      const { code, file } = await imported('frp', text);
      const { tunnels } = parse(await readFile(file, 'utf8'));
      assert.equal(Object.keys(tunnels).length, count);
      assert.equal(code, name === 'a header' ? 0 : 4);
      if (name === 'a header')
        assert.deepEqual(tunnels.site.request_header, { add: ['x-user: nobody'], remove: ['x-user'] });
    });

  test('an endpoint of an ngrok.yml is left out with another one of its host', async () => {
    const policy = ', traffic_policy: {on_http_request: [{actions: [{type: deny}]}]}';
    const endpoint = (name: string, host: string, rest: string): string =>
      `  - {name: ${name}, url: "https://${host}", upstream: {url: ${name === 'a' ? 1 : 2}}${rest}}\n`;
    for (const [inner, rest, names] of [
      ['A.example.com.', policy, []],
      ['a.example.com', ', name2: x', []],
      ['a.example.com', '', []],
      ['b.example.com', policy, ['a']],
      ['*.example.com', policy, ['a']],
    ] as const) {
      const text = `version: 3\nendpoints:\n${endpoint('a', 'a.example.com', '')}${endpoint('b', inner, rest)}`;
      const { file } = await imported('ngrok-agent', text);
      assert.deepEqual(Object.keys(parse(await readFile(file, 'utf8')).tunnels), names, inner);
    }
    const tunnels = `version: 2\ntunnels:\n  w: {proto: http, addr: 1, subdomain: a}\n  a: {proto: http, addr: 1, hostname: a.example.com, jwt: x}\n`;
    assert.deepEqual(parse(await readFile((await imported('ngrok-agent', tunnels)).file, 'utf8')).tunnels, {});
  });
});
