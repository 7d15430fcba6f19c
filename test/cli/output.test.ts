import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import Type from 'typebox';
import { table } from '../../src/app/cli/output/table.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { operatorEnv, type RunOptions, runCommand } from './run-command.ts';

const world = await TestWorld.open({ after });

function api(args: readonly string[], options: RunOptions = {}) {
  return runCommand(['api', ...args], { ...options, env: { ...operatorEnv(world), ...options.env } });
}

async function created(path: string, body: unknown): Promise<string> {
  const answer = await world.api('POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

suite('notices for the user', () => {
  test('creates an edge without hostports with a warning on standard error', async () => {
    const { code, stdout, stderr } = await api(['https-edges', 'create', '--only', 'id']);
    assert.equal(code, 0);
    assert.match(stderr, new RegExp(`warning: the edge has no hosts.*--id ${stdout.trim()} --hostports`));
    const served = await api(['https-edges', 'create', '--hostports', 'warned.localhost:443']);
    assert.equal(served.stderr, '');
  });

  test('update explains a flag that only a create takes, but not an unknown one', async () => {
    const update = ['certificate-authorities', 'update', '--id', 'ca_2zXAMPLEcertificateAAAAAAAA'];
    const { code, stderr } = await api([...update, '--ca-pem', '@new.pem']);
    assert.equal(code, 2);
    assert.match(stderr, /--ca-pem cannot be changed: only "create" accepts it/);
    assert.match((await api([...update, '--pem', 'x'])).stderr, /unknown flag --pem/);
  });

  test('masks secrets inside a field, and shows a secret that is named', async () => {
    const edge = await created('/edges/https', { hostports: ['masked.localhost:443'] });
    const oidc = { issuer: 'https://accounts.example.com', client_id: 'id', client_secret: 'hush-hush' };
    const route = await created(`/edges/https/${edge}/routes`, { match_type: 'path_prefix', match: '/', oidc });
    for (const args of [
      ['https-edges', 'get', '--id', edge, '--only', 'routes'],
      ['https-edges', 'list', '--only', 'routes'],
      ['https-edge-routes', 'get', '--edge', edge, '--id', route, '--only', 'oidc'],
    ]) {
      const { stdout } = await api(args);
      assert.ok(stdout.includes('"client_secret":"********"'), stdout);
      assert.ok(!stdout.includes('hush-hush'), args.join(' '));
    }
    const named = ['https-edge-routes', 'get', '--edge', edge, '--id', route, '--only', 'oidc.client_secret'];
    assert.equal((await api(named)).stdout, 'hush-hush\n');
  });

  test('help names API keys in the plural', async () => {
    assert.match((await api(['api-keys', '--help'])).stdout, /List API keys\n/);
  });
});

suite('a list', () => {
  test('is a table that fits the terminal and never truncates an id', async () => {
    const long = 'a long story about what this backend is for, longer than any line of the table can be';
    const id = await created('/backends/static', { address: '10.0.0.5:3000', description: long });
    const { stdout } = await api(['static-backends', 'list'], { columns: 80 });
    const [head = '', row = ''] = stdout.split('\n');
    assert.match(head, /^ADDRESS +DESCRIPTION .*ID$/);
    assert.ok(row.startsWith('10.0.0.5:3000') && row.endsWith(`  ${id}`), row);
    assert.match(row, /…/);
    for (const line of [head, row]) assert.ok(line.length <= 80, line);
    const narrow = await api(['static-backends', 'list'], { columns: 20 });
    assert.ok(narrow.stdout.includes(id));
    const piped = await api(['static-backends', 'list']);
    assert.ok(piped.stdout.includes(long));
  });

  test('fits terminals of 60 to 200 columns, with the host before ids, which shrink first', async () => {
    const host = 'a-rather-long-name-of-a-site.apps.example.com:443';
    const id = await created('/edges/https', { hostports: [host], description: 'the wiki of the team' });
    for (const columns of [60, 80, 120, 200]) {
      const { stdout } = await api(['https-edges', 'list'], { columns });
      const [head = '', ...rows] = stdout.trimEnd().split('\n');
      assert.match(head, /^HOSTPORTS .*ID$/);
      for (const line of [head, ...rows]) assert.ok(line.length <= columns, `${columns}: ${line}`);
      const row = rows.find((line) => line.startsWith('a-rather')) ?? '';
      if (columns >= 80) assert.ok(row.startsWith(host), row);
      assert.equal(row.includes(id), columns === 200, row);
      assert.match(row, / {2}edghts_\w+…?$/);
    }
    assert.ok((await api(['https-edges', 'list'])).stdout.includes(id), 'a pipe has it whole');
  });

  test('of API keys, nodes or agents begins with what people know them by, and ends with the id', async () => {
    await created('/api_keys', { description: 'deploy job' });
    const keys = await api(['api-keys', 'list'], { columns: 120 });
    assert.match(keys.stdout, /^DESCRIPTION .*ID\ndeploy job .* {2}ak_\w{27}\n/);
    const nodes = await runCommand(['nodes'], { env: operatorEnv(world), columns: 120 });
    assert.match(nodes.stdout, /^NAME .*ID\n/);
    const session = { id: `ts_${'0'.repeat(27)}`, agent_version: '1', ip: '203.0.113.7', os: 'linux' };
    const schema = Type.Object({ id: Type.String(), agent_version: Type.String(), ip: Type.String() });
    assert.match(table([session], { schema, leftOut: [], terminalWidth: 80 })[0] ?? '', /^IP .*ID$/);
  });

  test('prints nothing to standard output when empty', async () => {
    const { code, stdout, stderr } = await api(['weighted-backends', 'list']);
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: 'none\n' });
  });

  test("in JSON is the API's response byte by byte, and with --all one object with every item", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift(await created('/ip_policies', { description: `${index}` }));
    const { text } = await world.api('GET', '/ip_policies?limit=2');
    const page = await api(['ip-policies', 'list', '--limit', '2', '--json']);
    assert.equal(page.stdout, `${text}\n`);
    const all = await api(['ip-policies', 'list', '--limit', '2', '--all', '--json']);
    const body = JSON.parse(all.stdout) as { ip_policies: { id: string }[]; next_page_uri: null; uri: string };
    assert.deepEqual(
      body.ip_policies.map(({ id }) => id),
      ids,
    );
    assert.equal(body.next_page_uri, null);
    const people = await api(['ip-policies', 'list', '--limit', '2']);
    assert.match(people.stderr, new RegExp(`--all for all of them, or --before-id ${ids[1]} `));
    assert.equal((await api(['ip-policies', 'list', '--limit', '2', '--all'])).stdout.trim().split('\n').length, 6);
  });
});

suite('one object', () => {
  test('is lines of name and value, without secrets that can be read again', async () => {
    const edge = await created('/edges/https', { hostports: ['one.localhost:7443'] });
    const oidc = { issuer: 'https://accounts.example.com', client_secret: 'planted-secret' };
    const route = await created(`/edges/https/${edge}/routes`, { match_type: 'path_prefix', match: '/', oidc });
    for (const args of [
      ['oidc', 'get', edge, route],
      ['https-edge-routes', 'get', edge, route],
      ['https-edges', 'get', edge],
      ['routes', 'list', edge],
    ]) {
      const { code, stdout } = await api(args);
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /planted-secret/);
    }
    assert.match((await api(['oidc', 'get', edge, route])).stdout, /^issuer +https:\/\/accounts\.example\.com$/m);
    assert.match((await api(['https-edge-routes', 'get', edge, route])).stdout, /^oidc\.client_secret +\(set; /m);
    assert.match((await api(['oidc', 'get', edge, route, '--json'])).stdout, /planted-secret/);
  });

  test('shows a token that is shown once', async () => {
    assert.match((await api(['api-keys', 'create'])).stdout, /^token +postern_ak_\S+$/m);
  });

  test('foreign text cannot control the terminal', async () => {
    await created('/ip_policies', { description: '\u001b[2Jgone \u202egpj.exe' });
    const { stdout } = await api(['ip-policies', 'list', '--limit', '1'], { columns: 200 });
    assert.match(stdout, /\\u001b\[2Jgone \\u202egpj\.exe/);
    assert.equal(stdout.includes('\u001b') || stdout.includes('\u202e'), false);
  });

  test('reports a deletion on standard error only', async () => {
    const id = await created('/ip_policies', {});
    assert.deepEqual(await api(['ip-policies', 'delete', id]), {
      code: 0,
      stdout: '',
      stderr: 'The resource is deleted (204)\n',
    });
    const again = await created('/ip_policies', {});
    assert.equal((await api(['ip-policies', 'delete', again, '--json'])).stdout, '');
  });
});

suite('a failure', () => {
  test('of the API exits 1 with message, code, operation id, details and a hint', async () => {
    const { code, stdout, stderr } = await api(['https-edges', 'create', '--hostports', 'nonsense']);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    assert.match(stderr, /^postern: .*hostports/);
    assert.match(stderr, /^ {2}code +ERR_POSTERN_INVALID_BODY \(400\)$/m);
    assert.match(stderr, /^ {2}operation +op_[0-9A-Za-z]{27}$/m);
    assert.match(stderr, /^ {2}field +\/hostports$/m);
    assert.match(stderr, /^ {2}hint +"postern api https-edges create --help"/m);
  });

  test("under --json is the API's response, on standard error", async () => {
    const { code, stdout, stderr } = await api(['https-edges', 'create', '--hostports', 'nonsense', '--json']);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    assert.equal((JSON.parse(stderr) as { error_code: string }).error_code, 'ERR_POSTERN_INVALID_BODY');
  });

  test('to connect exits 3 and names the address', async () => {
    const { code, stderr } = await api(['https-edges', 'list'], { env: { POSTERN_CLI_API_URL: 'http://127.0.0.1:2' } });
    assert.equal(code, 3);
    assert.match(stderr, /^postern: cannot reach http:\/\/127\.0\.0\.1:2: nothing listens there\. Start the server/);
  });

  test("a wrong key is a 401 that names the key's origin", async () => {
    const { code, stderr } = await api(['https-edges', 'list'], { env: { POSTERN_CLI_API_KEY: 'wrong'.repeat(8) } });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^postern: http:\/\/127\.0\.0\.1:\d+: [\s\S]*\(401\)[\s\S]*the key came from POSTERN_CLI_API_KEY/,
    );
    assert.doesNotMatch(stderr, /wrongwrong/);
  });

  test('a lost race exits 1 with 412; the ETag comes from --verbose', async () => {
    const id = await created('/ip_policies', {});
    const read = await api(['ip-policies', 'get', id, '--verbose']);
    const [, etag = ''] = /etag ("\d+")/.exec(read.stderr) ?? [];
    const change = ['ip-policies', 'update', id, '--if-match', etag, '--description'];
    assert.equal((await api([...change, 'first'])).code, 0);
    const second = await api([...change, 'second']);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /\(412\)[\s\S]*hint +it has changed since/);
  });
});

suite('the key', () => {
  const list = ['ip-policies', 'list', '--verbose'];

  test('comes from a file, the variable, or the data directory of a server on this machine', async (t) => {
    const folder = await tempDir(t);
    const file = join(folder, 'key');
    await writeFile(file, `${TEST_API_KEY}\n`);
    const fromFile = await api([...list, '--api-key-file', file], { env: { POSTERN_CLI_API_KEY: '' } });
    assert.match(fromFile.stderr, new RegExp(`key from --api-key-file ${file}`));
    assert.equal(fromFile.code, 0);
    const data = join(folder, 'data');
    await mkdir(data);
    await writeFile(join(data, 'first-api-key'), `${TEST_API_KEY}\n`);
    const env = { POSTERN_CLI_API_KEY: '', POSTERN_DATA_DIR: data };
    const found = await api(list, { env });
    assert.match(found.stderr, /key from the file .*first-api-key/);
    assert.doesNotMatch(found.stderr + found.stdout, new RegExp(TEST_API_KEY));
    const elsewhere = await api(list, { env: { ...env, POSTERN_CLI_API_URL: 'http://postern.example.com' } });
    assert.equal(elsewhere.code, 2);
    assert.match(elsewhere.stderr, /no API key/);
  });

  test('that is missing can be made with a command that exists', async (t) => {
    const none = join(await tempDir(t), 'none');
    const { code, stderr } = await api(list, { env: { POSTERN_CLI_API_KEY: '', POSTERN_DATA_DIR: none } });
    assert.equal(code, 2);
    const [, advised = ''] = /"postern (store [^"]+)"/.exec(stderr) ?? assert.fail(stderr);
    const help = await runCommand([...advised.split(' '), '--help']);
    assert.match(help.stdout, /^Usage: postern store create-key/m, advised);
  });

  test('of POSTERN_CLI_API_KEY and the address of POSTERN_CLI_API_URL count, whatever settings of a server say', async () => {
    const env = { POSTERN_API_KEY: 'other'.repeat(8), POSTERN_API_URL: 'http://127.0.0.1:2' };
    const own = await api(list, { env });
    assert.equal(own.code, 0, own.stderr);
    assert.match(own.stderr, /key from POSTERN_CLI_API_KEY/);
    assert.doesNotMatch(own.stderr, new RegExp(`warning|${TEST_API_KEY}|otherother`));
    const wrong = await api(list, { env: { POSTERN_CLI_API_URL: 'ftp://x' } });
    assert.match(wrong.stderr, /POSTERN_CLI_API_URL must be an absolute http/);
  });

  test('of POSTERN_API_KEY is the first one of a server on this machine, and goes to no other', async () => {
    const env = { POSTERN_CLI_API_KEY: '', POSTERN_API_KEY: TEST_API_KEY };
    const here = await api(list, { env });
    assert.equal(here.code, 0, here.stderr);
    assert.match(here.stderr, /key from POSTERN_API_KEY/);
    const elsewhere = await api(list, { env: { ...env, POSTERN_CLI_API_URL: 'https://postern.example.com' } });
    assert.equal(elsewhere.code, 2);
    assert.match(elsewhere.stderr, /no API key: set POSTERN_CLI_API_KEY.*is not sent to another machine/);
  });

  test('is sent without TLS only with a warning', async () => {
    const url = world.baseUrl.replace('127.0.0.1', '127.0.0.1.invalid');
    const { code, stderr } = await api(list, { env: { POSTERN_CLI_API_URL: url } });
    assert.equal(code, 3);
    assert.match(stderr, /warning: .* is not encrypted/);
  });

  test('is sent without TLS only with a warning by every other command, too', async () => {
    const env = { ...operatorEnv(world), POSTERN_CLI_API_URL: world.baseUrl.replace('127.0.0.1', '127.0.0.1.invalid') };
    for (const command of ['search x', 'status', 'changes', 'requests', 'events replay', 'export', 'confirm 1']) {
      const { code, stderr } = await runCommand(command.split(' '), { env });
      assert.equal(code, 3, command);
      assert.equal(stderr.match(/warning: .* is not encrypted/g)?.length, 1, stderr);
    }
  });
});

test('reports a problem that blocks traffic on standard error, whatever the output format', async () => {
  const edge = await created('/edges/https', { hostports: ['why.localhost:443'] });
  const route = await created(`/edges/https/${edge}/routes`, { match_type: 'path_prefix', match: '/' });
  const address = ['--edge', edge, '--route', route];
  for (const form of [[], ['--json'], ['--only', 'enabled']]) {
    const off = await api(['oidc', 'replace', ...address, '--no-enabled', ...form]);
    assert.deepEqual([off.code, off.stderr], [0, '']);
    const on = await api(['oidc', 'replace', ...address, ...form]);
    assert.equal(on.code, 0);
    assert.match(on.stderr, /^postern: warning: all traffic is rejected: oidc: .+\n$/);
    assert.equal((await api(['oidc', 'get', ...address, ...form])).stderr, on.stderr);
  }
  assert.match((await api(['https-edges', 'get', edge])).stderr, new RegExp(`oidc: .* \\(${route}\\)`));
});
