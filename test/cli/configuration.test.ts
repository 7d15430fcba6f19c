import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, type RunOptions, runCommand } from './run-command.ts';

const world = await TestWorld.open({ after });
const env = operatorEnv(world);
const folder = await mkdtemp(join(tmpdir(), 'postern-configuration-'));
after(() => rm(folder, { recursive: true }));

function postern(args: readonly string[], options: RunOptions = {}) {
  return runCommand(args, { env, ...options });
}

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function create(path: string, body: object) {
  const answer = await world.api('POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

const backend = await create('/backends/static', { description: 'web', address: '127.0.0.1:3000' });
const edge = await create('/edges/https', { hostports: ['first.example.com:443'] });
await create(`/edges/https/${edge.id}/routes`, {
  match: '/',
  match_type: 'path_prefix',
  backend: { backend_id: backend.id },
  oidc: { issuer: 'https://id.example.com', client_id: 'c', client_secret: 'planted-secret' },
});
await create('/ip_policies', { description: 'unrelated' });

suite('postern export', () => {
  test('writes a valid file without secrets, and names the variables to set', async () => {
    const file = join(folder, 'exported.yaml');
    const { code, stdout, stderr } = await postern(['export', '-f', file, '--owner', 'team-web']);
    assert.deepEqual([code, stdout], [0, '']);
    assert.match(stderr, /1 secret is not in the file/);
    const text = await readFile(file, 'utf8');
    assert.match(text, /^# yaml-language-server: \$schema=postern.schema.json\nversion: 1\nowner: team-web\n/);
    assert.match(text, /backend: web/);
    assert.doesNotMatch(text, /planted/);
    const valid = await postern(['validate', '-f', file]);
    assert.deepEqual([valid.code, valid.stdout], [0, 'the file is valid\n']);
  });

  test('prints the file for --file -', async () => {
    const { code, stdout } = await postern(['export', '--file', '-']);
    assert.equal(code, 0);
    assert.match(stdout, /^version: 1$/m);
  });

  test('writes what a selector names, with what that refers to', async () => {
    const { stdout } = await postern(['export', '--selector', 'https_edges/first.*']);
    assert.match(stdout, /first.example.com:[\s\S]*address: "?127.0.0.1:3000/);
    assert.doesNotMatch(stdout, /unrelated/);
    const both = await postern(['export', '--selector', 'backends', '--selector=ip_policies']);
    assert.match(both.stdout, /unrelated/);
    assert.doesNotMatch(both.stdout, /first.example.com/);
  });

  for (const [args, expected] of [
    [['--selector', 'https_edge'], /Did you mean "https_edges"/],
    [['--selector', 'https_edges/nope'], /matches nothing/],
    [
      ['--file', '/nowhere/at/all.yaml'],
      /cannot write \/nowhere\/at\/all.yaml: its directory does not exist. Create it, or check the path$/m,
    ],
    [['extra'], /unexpected argument/],
    [['--selector'], /--selector requires a value/],
  ] as const) {
    test(`rejects ${args.join(' ')}`, async () => {
      const { code, stderr } = await postern(['export', ...args]);
      assert.equal(code, 2);
      assert.match(stderr, expected);
    });
  }
});

suite('postern validate', () => {
  test('prints problems with file and line, and fails', async () => {
    const file = await write('bad.yaml', 'version: 1\nip_policies:\n  a: {metdata: x}\n');
    const { code, stderr } = await postern(['validate', '-f', file]);
    assert.equal(code, 1);
    assert.match(stderr, /bad.yaml:3: ip_policies > "a" > metdata is not a known field/);
  });

  test('reads several files, directories and standard input as one configuration', async () => {
    const edges = await write(
      'edges.yml',
      'version: 1\nhttps_edges:\n  x.example.com: {routes: {/: {backend: {backend: b}}}}\n',
    );
    const alone = await postern(['validate', '-f', edges]);
    assert.equal(alone.code, 1);
    assert.equal((await postern(['validate', '-f', edges, '--partial'])).code, 0);
    const backends = await write('backends.yaml', 'version: 1\nbackends:\n  b: {kind: static, address: "a:1"}\n');
    const together = await postern(['validate', '-f', edges, '-f', backends]);
    assert.deepEqual([together.code, together.stdout], [0, '2 files are valid\n']);
    assert.equal((await postern(['validate', '-f', edges, backends])).code, 0);
    assert.equal((await postern(['validate', '-f', folder])).code, 1);
  });

  test('prints the schema for editors', async () => {
    const { stdout } = await postern(['validate', '--schema']);
    assert.deepEqual(JSON.parse(stdout).properties.version.const, 1);
  });

  for (const [args, expected] of [
    [[], /needs a file/],
    [['-f', '/nowhere.yaml'], /cannot read \/nowhere.yaml: it does not exist. Check the path$/m],
    [['-f', tmpdir(), '--nope'], /unknown flag --nope/],
  ] as const) {
    test(`rejects ${args.join(' ') || 'no arguments'}`, async () => {
      const { code, stderr } = await postern(['validate', ...args]);
      assert.equal(code, 2);
      assert.match(stderr, expected);
    });
  }
});
