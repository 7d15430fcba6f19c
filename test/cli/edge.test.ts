import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { parse } from 'yaml';
import { listenerPort } from '../../src/client/publish/plan-edge.ts';
import { LAUNCHER } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, type RunOptions, runCommand } from './run-command.ts';

const world = await TestWorld.open({ after }, { env: { POSTERN_EDGE_LISTEN: '127.0.0.1:443' } });
const folder = await tempDir({ after });
const secretFile = join(folder, 'secret');
await writeFile(secretFile, 'hush-hush\n');
const LOGIN = ['--oidc', 'https://accounts.example.com', '--client-id', 'shop', '--client-secret-file', secretFile];

function postern(args: readonly string[], options: RunOptions = {}) {
  return runCommand(args, { ...options, env: { ...operatorEnv(world), ...options.env } });
}

// biome-ignore lint/suspicious/noExplicitAny: looked into field by field
async function routeOf(host: string): Promise<any> {
  const { body } = await world.api('GET', '/edges/https');
  // biome-ignore lint/suspicious/noExplicitAny: looked into field by field
  return body.https_edges.find((edge: any) => edge.hostports[0].startsWith(`${host}:`))?.routes[0];
}

async function revision(): Promise<number> {
  const { body } = await world.api('POST', '/changesets', { operations: [], dry_run: true });
  return body.revision;
}

suite('postern edge', () => {
  test('makes edge, route, backend and modules in one change', async () => {
    const args = [
      'edge',
      'shop.example.com',
      '--to',
      '127.0.0.1:3000',
      ...LOGIN,
      '--allow-email-domain',
      'example.com',
    ];
    const before = await revision();
    const { code, stdout, stderr } = await postern(args);
    assert.equal(code, 0, stderr);
    assert.equal(await revision(), before + 1);
    const route = await routeOf('shop.example.com');
    assert.equal(route.oidc.client_secret, 'hush-hush');
    assert.deepEqual(route.access.allow[0].email_domains, ['example.com']);
    assert.equal((await world.api('GET', route.backend.backend.uri)).body.address, '127.0.0.1:3000');
    assert.match(
      stdout,
      /^\+ backend 127\.0\.0\.1:3000\n\+ edge shop\.example\.com:443\n\+ route shop\.example\.com\/\n/,
    );
    assert.match(stdout, /curl -i https:\/\/shop\.example\.com\/\n/);
    assert.match(stdout, /https:\/\/shop\.example\.com\/\.postern\/callback/);
    assert.ok(!stdout.includes('hush-hush'));
  });

  test('run again, it changes nothing', async () => {
    const args = ['edge', 'SHOP.example.com', '--to', '3000', ...LOGIN, '--allow-email-domain=example.com'];
    const before = await revision();
    const { code, stdout } = await postern(args);
    assert.equal(code, 0);
    assert.match(stdout, /^nothing to change$/m);
    assert.doesNotMatch(stdout, /^[+~]/m);
    assert.equal(await revision(), before);
  });

  test('changes only the difference', async () => {
    const former = await routeOf('shop.example.com');
    const { code, stdout, stderr } = await postern(['edge', 'shop.example.com', '--to', 'https://10.0.0.5:8443']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^~ shop\.example\.com\/ forwards to https:\/\/10\.0\.0\.5:8443$/m);
    assert.match(stderr, new RegExp(`former backend ${former.backend.backend.id} stays`));
    assert.match(stderr, /login at https:\/\/accounts\.example\.com stays/);
    const route = await routeOf('shop.example.com');
    const { body } = await world.api('GET', route.backend.backend.uri);
    assert.deepEqual([body.address, body.tls.enabled], ['10.0.0.5:8443', true]);
    assert.deepEqual(route.oidc, former.oidc);
    await postern(['edge', 'shop.example.com/admin', '--to', '3000']);
    assert.equal((await postern(['api', 'routes', 'get', 'shop.example.com/admin'])).code, 0);
  });

  test('does not send the stored client secret to another provider', async () => {
    const before = await revision();
    const args = [
      'edge',
      'shop.example.com',
      '--to',
      'https://10.0.0.5:8443',
      '--oidc',
      'https://attacker.example.com',
    ];
    const { code, stdout, stderr } = await postern([...args, '--client-id', 'shop']);
    assert.equal(code, 1, stdout);
    assert.match(stderr, /belongs to https:\/\/accounts\.example\.com, and is not sent to .* add --client-secret-file/);
    assert.doesNotMatch(stdout + stderr, /hush/);
    assert.equal(await revision(), before);
    const given = await postern([...args, '--client-id', 'shop', '--client-secret-file', secretFile, '--dry-run']);
    assert.equal(given.code, 0, given.stderr);
  });

  test('the server checks a dry run and stores nothing', async () => {
    const before = await revision();
    const dry = await postern(['edge', 'dry.example.com', '--to', '3999', '--dry-run', '-o', 'json']);
    assert.equal(dry.code, 0, dry.stderr);
    const { edge_id: id, dry_run: isDry, changed } = JSON.parse(dry.stdout);
    assert.deepEqual([id, isDry, changed], [null, true, 3]);
    const bad = await postern(['edge', 'dry.example.com:81', '--to', '3000', '--dry-run']);
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /port/);
    assert.equal(await revision(), before);
  });

  test('prints the id of the edge, or YAML', async () => {
    const { stdout } = await postern(['edge', 'out.example.com', '--to', '3000', '-o', 'id']);
    assert.match(stdout, /^edghts_\w{27}\n$/);
    const yaml = parse((await postern(['edge', 'out.example.com', '--to', '3000', '-o', 'yaml'])).stdout);
    assert.equal(yaml.edge_id, stdout.trim());
    assert.equal(yaml.url, 'https://out.example.com/');
  });

  test('a site that shares its address with others is found by its own name only', async () => {
    for (const host of ['gate.example.com', 'pond.example.com']) await postern(['edge', host, '--to', '3999']);
    const found = await world.api('GET', '/edges/https?q=gate');
    assert.deepEqual(
      found.body.https_edges.map(({ hostports }: { hostports: readonly string[] }) => hostports),
      [['gate.example.com:443']],
    );
  });

  test('says why it does not do something, and does nothing', async () => {
    const edge = await world.api('POST', '/edges/https', { hostports: ['other.example.com:443'] });
    const routes = `/edges/https/${edge.body.id}/routes`;
    await world.api('POST', routes, { match_type: 'exact_path', match: '/exact' });
    const before = await revision();
    const rows: readonly (readonly [number, RegExp, readonly string[]])[] = [
      [1, /exactly this path.*match-type path_prefix.*Nothing was changed/, ['other.example.com/exact', '--to', '1']],
      [1, /as other\.example\.com:443/, ['other.example.com:7443', '--to', '1']],
      [1, /need a login/, ['other.example.com', '--to', '1', '--allow-email-domain', 'example.com']],
      [2, /--to takes host:port/, ['other.example.com', '--to', 'http://user:pass@10.0.0.5:80']],
      [1, /need a login/, ['other.example.com', '--to', '1', '--allow-groups', 'ops']],
      [1, /needs an identity host.*Nothing was changed/, ['other.example.com', '--to', '1', '--login']],
      [1, /has access rules already/, ['shop.example.com', '--to', '1', '--allow-email-domain', 'example.org']],
      [2, /takes one host/, ['--to', '1']],
      [2, /--to is required/, ['a.example.com']],
      [2, /--to takes/, ['a.example.com', '--to', 'nonsense']],
      ...['0', '99999', 'web:70000', '[::1]:0', 'http://web:99999', 'we%b:80'].map(
        (target) => [2, /--to (takes|\S+: \d+ is no port)/, ['a.example.com', '--to', target]] as const,
      ),
      [2, /write it in the form/, ['a b', '--to', '1']],
      [2, /letters outside of ASCII: write xn--bcher-kva\.example\.com/, ['bücher.example.com', '--to', '1']],
      [2, /"127\.0\.0\.1" is an IP address: use a host name/, ['127.0.0.1', '--to', '1']],
      [2, /"a_\.example\.com" is not a host name/, ['a_.example.com', '--to', '1']],
      [2, /edge takes a host and no "create": postern edge app\.example\.com --to 3000/, ['create', '--to', '3000']],
      [2, /edge takes a host and no "create"/, ['create', 'a.example.com', '--to', '3000']],
      [2, /needs --client-id/, ['a.example.com', '--to', '1', '--oidc', 'https://x']],
      [2, /exclude each other/, ['a.example.com', '--to', '1', '--login', '--oidc', 'https://x']],
      [2, /requires names of groups/, ['a.example.com', '--to', '1', '--login', '--allow-groups', 'ops,']],
      [2, /--client-id needs --oidc/, ['a.example.com', '--to', '1', '--client-id', 'x']],
      [2, /requires a (domain|value)/, ['a.example.com', '--to', '1', '--allow-email-domain']],
      [2, /cannot read the file/, ['a.example.com', '--to', '1', ...LOGIN.slice(0, -1), join(folder, 'none')]],
    ];
    for (const [code, message, args] of rows) {
      const result = await postern(['edge', ...args]);
      assert.equal(result.code, code, `${args.join(' ')}\n${result.stderr}`);
      assert.match(result.stderr, message);
    }
    assert.equal(await revision(), before);
  });
});

suite('postern edge with passwords, addresses and a Host header', () => {
  const password = join(folder, 'password');
  const site = 'staging.example.com';
  const guards = ['--password-file', password, '--only', '192.0.2.0/24,2001:DB8::7', '--host-header', 'rewrite'];
  const rulesOf = async (): Promise<readonly string[]> => {
    const { body } = await world.api('GET', '/ip_policy_rules');
    return body.ip_policy_rules.map(({ cidr }: { cidr: string }) => cidr).toSorted();
  };

  before(() => writeFile(password, 'hunter2hunter2\n'));

  test('makes them with the site', async () => {
    const { code, stdout, stderr } = await postern(['edge', site, '--to', '127.0.0.1:8888', ...guards]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\+ passwords of visitor\n\+ access from 192\.0\.2\.0\/24, 2001:db8::7\/128$/m);
    assert.match(stdout, /^\+ Host header 127\.0\.0\.1:8888$/m);
    assert.doesNotMatch(stdout + stderr, /hunter2/);
    const route = await routeOf(site);
    assert.deepEqual(route.basic_auth.users, [{ username: 'visitor', password: '' }]);
    assert.deepEqual(route.request_headers.add, { host: '127.0.0.1:8888' });
    assert.equal(route.ip_restriction.ip_policies.length, 1);
    assert.deepEqual(await rulesOf(), ['192.0.2.0/24', '2001:db8::7/128']);
  });

  test('run again, it adds nothing', async () => {
    const before = await revision();
    const { code, stdout, stderr } = await postern(['edge', site, '--to', '127.0.0.1:8888', ...guards]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^~ password of visitor\n= access from .*\n= Host header 127\.0\.0\.1:8888$/m);
    assert.equal((await routeOf(site)).basic_auth.users.length, 1);
    const without = await postern(['edge', site, '--to', '127.0.0.1:8888', ...guards.slice(2)]);
    assert.match(without.stdout, /^nothing to change$/m);
    assert.equal(await revision(), before, 'the same password keeps its hash');
  });

  test('adds them to a site, and keeps what others set', async () => {
    await postern(['edge', 'plain.example.com', '--to', '127.0.0.1:8888']);
    const { id } = await routeOf('plain.example.com');
    const edge = (await world.api('GET', '/edges/https')).body.https_edges.find(
      // biome-ignore lint/suspicious/noExplicitAny: looked into field by field
      ({ routes }: any) => routes[0]?.id === id,
    );
    const path = `/edges/https/${edge.id}/routes/${id}`;
    await world.api('PUT', `${path}/request_headers`, { add: { 'x-site': 'plain' } });
    await world.api('PUT', `${path}/basic_auth`, { users: [{ username: 'kim', password: 'kims-own-password' }] });
    const { code, stdout, stderr } = await postern([
      ...['edge', 'plain.example.com', '--to', '8888', '--password-file', password, '--username', 'ana'],
      ...['--only', '192.0.2.7', '--host-header', 'localhost'],
    ]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\+ password of ana\n\+ access from 192\.0\.2\.7\/32\n\+ Host header localhost$/m);
    const route = await routeOf('plain.example.com');
    assert.deepEqual(
      route.basic_auth.users.map(({ username }: { username: string }) => username),
      ['kim', 'ana'],
    );
    assert.deepEqual(route.request_headers.add, { 'x-site': 'plain', host: 'localhost' });
    const back = await postern(['edge', 'plain.example.com', '--to', '8888', '--host-header', 'preserve']);
    assert.match(back.stdout, /^- Host header localhost$/m);
    assert.deepEqual((await routeOf('plain.example.com')).request_headers.add, { 'x-site': 'plain' });
    const other = await postern(['edge', 'plain.example.com', '--to', '8888', '--only', '198.51.100.0/24']);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /has address rules already.*postern api ip-restriction replace.*Nothing was changed/);
  });

  test('does not store credentials that its key may not read as empty texts', async () => {
    await postern(['edge', 'hidden.example.com', '--to', '8888']);
    const list = (await world.api('GET', '/edges/https')).body.https_edges;
    // biome-ignore lint/suspicious/noExplicitAny: looked into field by field
    const edge = list.find(({ hostports }: any) => hostports[0].startsWith('hidden.'));
    const path = `/edges/https/${edge.id}/routes/${edge.routes[0].id}/request_headers`;
    await world.api('PUT', path, { add: { authorization: 'Bearer abc' } });
    const scopes = ['edges:read', 'edges:write', 'backends:read', 'backends:write'];
    const { body } = await world.api('POST', '/api_keys', { scopes });
    const args = ['edge', 'hidden.example.com', '--to', '8888', '--host-header', 'localhost'];
    const { code, stderr } = await postern(args, { env: { POSTERN_CLI_API_KEY: body.token } });
    assert.equal(code, 1);
    assert.match(stderr, /headers with credentials that this key may not read.*Nothing was changed/);
  });

  test('says what is wrong with a flag, and repeats no password', async () => {
    const empty = join(folder, 'empty');
    await writeFile(empty, '\n');
    const rows: readonly (readonly [RegExp, readonly string[]])[] = [
      [/--password asks on a terminal, and there is none: use --password-file/, ['--password']],
      [/--password is on or off and takes no value/, ['--password=hunter2hunter2']],
      [/nothing may follow --password/, ['--password', 'hunter2hunter2']],
      [/--password is on or off and takes no value/, ['--password', 'off']],
      [/the file is empty/, ['--password-file', empty]],
      [/--username needs --password/, ['--username', 'ana']],
      [/--username takes a name without a colon/, ['--password-file', password, '--username', 'a:b']],
      [/--only "nonsense" must be an address such as/, ['--only', 'nonsense']],
      [/--only "192\.0\.2\.7\/24" has bits set beyond/, ['--only', '192.0.2.7/24']],
      [/--host-header takes preserve, rewrite, or a host/, ['--host-header', 'a b']],
    ];
    for (const [message, args] of rows) {
      const { code, stdout, stderr } = await postern(['edge', 'wrong.example.com', '--to', '1', ...args]);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, message);
      assert.doesNotMatch(stdout + stderr, /hunter2/);
    }
    const id = 'bkdtg_2ABCDEFGHIJKLMNOPQRSTUVWXYZ';
    const agents = await postern(['edge', 'wrong.example.com', '--to', id, '--host-header', 'rewrite']);
    assert.match(agents.stderr, /--host-header rewrite needs a target with one address/);
  });
});

test('postern edge --password asks for the password on a terminal, and does not show it', async (t) => {
  const typed = `'${process.execPath}' '${LAUNCHER}' edge typed.example.com --to 3000 --password`;
  const terminal = spawn('script', ['-qefc', typed, '/dev/null'], {
    env: { ...process.env, ...operatorEnv(world) },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.after(() => terminal.kill('SIGKILL'));
  const answers = [/^Password: $/m, /Repeat the password: $/];
  let output = '';
  for await (const text of terminal.stdout.setEncoding('utf8')) {
    output += text as string;
    if (answers[0]?.test(output) === true) {
      answers.shift();
      terminal.stdin.write('hunter2hunter2\r');
    }
  }
  assert.match(output, /\+ passwords of visitor/);
  assert.doesNotMatch(output, /hunter2/);
  assert.deepEqual((await routeOf('typed.example.com')).basic_auth.users, [{ username: 'visitor', password: '' }]);
});

test('postern edge --login logs people in at the identity host of the server, and lets in members of the groups', async (t) => {
  const own = await TestWorld.open(t, { env: { POSTERN_IDENTITY_HOST: 'id.example.com' } });
  const run = (...args: readonly string[]) => runCommand(['edge', ...args], { env: operatorEnv(own) });
  const args = ['app.example.com', '--to', '3000', '--login', '--allow-groups', 'ops,support'];
  const { code, stdout, stderr } = await run(...args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\+ login at https:\/\/id\.example\.com\n\+ access for group ops, group support\n/);
  assert.doesNotMatch(stdout, /Redirect URI/);
  const { body } = await own.api('GET', '/edges/https');
  const [route] = body.https_edges[0].routes;
  assert.deepEqual([route.oidc.issuer, route.oidc.client_id], ['https://id.example.com', '']);
  assert.deepEqual(route.access.allow[0].claims, { groups: ['ops', 'support'] });
  assert.match((await run(...args)).stdout, /nothing to change/);
  const other = ['app.example.com', '--to', '3000', '--oidc', 'https://accounts.example.com', '--client-id', 'x'];
  assert.match((await run(...other)).stdout, /~ login at https:\/\/accounts/);
  assert.match((await run('app.example.com', '--to', '3000', '--login')).stdout, /~ login at https:\/\/id\.example/);
  const again = await own.api('GET', '/edges/https');
  assert.deepEqual(again.body.https_edges[0].routes[0].oidc.client_id, '');
});

test('a new edge has the port of the listener, where nothing listens on 443', async (t) => {
  const elsewhere = await TestWorld.open(t, { env: { POSTERN_EDGE_LISTEN: '127.0.0.1:8443,[::1]:9443' } });
  const run = () => runCommand(['edge', 'app.example.com', '--to', '3000'], { env: operatorEnv(elsewhere) });
  assert.match((await run()).stdout, /^Address: +https:\/\/app\.example\.com:8443\/$/m);
  const { token } = (
    await elsewhere.api('POST', '/api_keys', {
      scopes: ['edges:read', 'edges:write', 'backends:read', 'backends:write'],
    })
  ).body;
  const env = { ...operatorEnv(elsewhere), POSTERN_CLI_API_KEY: token };
  const { stdout, stderr } = await runCommand(['edge', 'b.example.com', '--to', '3000', '--dry-run'], { env });
  assert.match(stdout, /\+ edge b\.example\.com:443/, stderr);
});

test('a new edge has the port that visitors use, where something in front maps it', async (t) => {
  const env = { POSTERN_EDGE_LISTEN: '127.0.0.1:7443', POSTERN_EDGE_HOST_PORTS: '80,8443' };
  const mapped = await TestWorld.open(t, { env });
  const run = (host: string) => runCommand(['edge', host, '--to', '3000'], { env: operatorEnv(mapped) });
  const { code, stdout, stderr } = await run('app.example.com');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Address: +https:\/\/app\.example\.com:8443\/$/m);
  // The console asks the same function.
  assert.equal(listenerPort((await mapped.api('GET', '/settings')).body.settings), 8443);
  const inside = await run('inside.example.com:7443');
  assert.equal(inside.code, 1);
  assert.match(inside.stderr, /has port 7443, but visitors can use 443 or 8443: .*edge_host_ports/);
  assert.equal((await run('usual.example.com:443')).code, 0);
});

suite('postern status', () => {
  test('shows everything on one screen', async () => {
    const { code, stdout, stderr } = await postern(['status']);
    assert.equal(code, 1, stderr);
    assert.match(stdout, /^problem: .*shop\.example\.com.*: nobody can log in: /m);
    for (const line of [/^Server +ready, version \d/m, /^Nodes +\S+ ready/m, /^Edges +\d+, with \d+ routes?$/m]) {
      assert.match(stdout, line);
    }
    assert.match(stdout, /^warning: .*other\.example\.com.* has no backend/m);
    assert.ok(stdout.split('\n').length < 50);
    const json = JSON.parse((await postern(['status', '-o', 'json'])).stdout);
    assert.equal(json.ok, false);
    assert.equal(json.server.status, 'ready');
    assert.ok(json.edges.count >= 3);
  });

  test('breaks lines at words, at every width of the terminal', async () => {
    const words = (text: string): string => stripVTControlCharacters(text).replaceAll(/\s+/g, ' ').trim();
    const whole = (await postern(['status'])).stdout;
    for (const columns of [60, 80, 120, 200]) {
      const { stdout } = await postern(['status'], { columns, env: { NO_COLOR: '1' } });
      const lines = stdout.split('\n');
      assert.deepEqual(
        lines.filter((line) => line.length > columns && line.trim().includes(' ')),
        [],
      );
      assert.equal(words(stdout), words(whole));
    }
  });

  test('exits with 1 when something does not work, and with 3 when no server answers', async () => {
    await postern(['api', 'oidc', 'replace', 'shop.example.com/', '--issuer', 'https://accounts.example.com']);
    const { code, stdout } = await postern(['status']);
    assert.equal(code, 1);
    assert.match(stdout, /^problem: .*rejects all traffic/m);
    assert.equal((await postern(['status'], { env: { POSTERN_CLI_API_URL: 'http://127.0.0.1:9' } })).code, 3);
    assert.equal((await postern(['status', '-o', 'id'])).code, 2);
  });

  test('shows what the key may read', async () => {
    const { body } = await world.api('POST', '/api_keys', { scopes: ['edges:read'] });
    const { stdout, stderr } = await postern(['status'], { env: { POSTERN_CLI_API_KEY: body.token } });
    assert.match(stdout, /^Agents +not readable with this API key$/m, stderr);
  });
});
