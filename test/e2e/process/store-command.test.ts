import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { type CommandResult, runCommand } from '../../cli/run-command.ts';
import { type PosternProcess, startPostern, startServerProcess } from '../../support/server-process.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { TestWorld } from '../../support/test-world.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;
/** Nobody. */
const SERVICE_USER = 65_534;
const KEY = `preset-${'k'.repeat(32)}`;
const PASSPHRASE = 'correct horse battery staple';

/** In this process; `npm run test:long` starts the program each time. */
function store(
  t: TestContext,
  dataDir: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  if (isLong) return storeProcess(t, dataDir, args, env);
  return runCommand(['store', ...args, '--data-dir', dataDir], { env });
}

async function storeProcess(
  t: TestContext,
  dataDir: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const command = startPostern(t, { args: ['store', ...args, '--data-dir', dataDir], env });
  const { code } = await command.exited;
  return { code: code ?? -1, stdout: command.stdout(), stderr: command.stderr() };
}

interface Server {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** On a data directory that no other process uses. */
async function anyServer(t: TestContext, dataDir: string): Promise<Server> {
  if (isLong) return serverProcess(t, dataDir);
  const world = await TestWorld.open(t, { dataDir, env: { POSTERN_API_KEY: KEY } });
  return { baseUrl: world.baseUrl, stop: () => world.close() };
}

async function serverProcess(t: TestContext, dataDir: string): Promise<Server> {
  const server = startServerProcess(t, dataDir, { env: { POSTERN_API_KEY: KEY } });
  const { base_url: baseUrl } = await server.ready();
  return { baseUrl, stop: () => stop(server) };
}

/** A server with the preset key and one destination, which has a secret. */
async function filledServer(
  t: TestContext,
  start: (t: TestContext, dataDir: string) => Promise<Server>,
): Promise<{ dataDir: string; server: Server }> {
  const dataDir = join(await tempDir(t), 'data');
  const server = await start(t, dataDir);
  await create(server.baseUrl, '/event_destinations', {
    description: 'the one',
    format: 'json',
    target: { webhook: { url: 'https://example.test/', secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}` } },
  });
  return { dataDir, server };
}

async function create(baseUrl: string, path: string, body: object): Promise<void> {
  const response = await fetch(`${baseUrl}${path}`, {
    method: 'POST',
    headers: headers(KEY),
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 201, await response.text());
}

/** What every one of the keys reads from a server on the store. */
async function descriptions(t: TestContext, dataDir: string, ...keys: readonly string[]): Promise<string[]> {
  const server = await anyServer(t, dataDir);
  const found = new Set<string>();
  for (const key of keys.length === 0 ? [KEY] : keys) {
    const response = await fetch(`${server.baseUrl}/event_destinations`, { headers: headers(key) });
    assert.equal(response.status, 200);
    const { event_destinations: read } = (await response.json()) as { event_destinations: { description: string }[] };
    for (const { description } of read) found.add(description);
  }
  await server.stop();
  return [...found];
}

function headers(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}`, 'Service-Version': '2', 'Content-Type': 'application/json' };
}

async function stop(server: PosternProcess): Promise<void> {
  server.child.kill('SIGTERM');
  assert.equal((await server.exited).code, 0);
}

suite('postern store', { timeout: TIMEOUT_MS }, () => {
  test('as root, leaves the data directory of a service to the user of the service', {
    skip: process.getuid?.() === 0 ? false : 'only root can give files to another user',
  }, async (t) => {
    const { dataDir, server } = await filledServer(t, anyServer);
    await server.stop();
    const file = join(dataDir, '..', 'backup');
    const chowned = spawnSync('chown', ['--recursive', `${SERVICE_USER}:${SERVICE_USER}`, dataDir]);
    assert.equal(chowned.status, 0);
    for (const args of [['backup', file], ['restore', file, '--replace'], ['rotate-key'], ['create-key']]) {
      const command = await store(t, dataDir, args);
      assert.equal(command.code, 0, command.stderr);
      const names = await readdir(dataDir);
      const owners = await Promise.all(names.map(async (name) => [name, (await stat(join(dataDir, name))).uid]));
      assert.deepEqual(
        owners.filter(([, uid]) => uid !== SERVICE_USER),
        [],
        args.join(' '),
      );
    }
  });

  test('beside a running server and after it, on one store', async (t) => {
    const { dataDir, server } = await filledServer(t, serverProcess);
    const file = join(dataDir, '..', 'backup');
    const withoutKey = join(dataDir, '..', 'backup-without-key');

    await t.test('backs up beside the server, with the key under a passphrase', async (each) => {
      const passphrase = { POSTERN_BACKUP_PASSPHRASE: PASSPHRASE };
      const backup = await storeProcess(each, dataDir, ['backup', file, '--with-key'], passphrase);
      assert.equal(backup.code, 0, backup.stderr);
      assert.match(backup.stdout, /^backed up [1-9]\d* records at revision [1-9]\d*/);
      assert(!`${backup.stdout}${backup.stderr}`.includes(PASSPHRASE));
    });

    await t.test('does not prompt for a passphrase without a terminal', async (each) => {
      const backup = await storeProcess(each, dataDir, ['backup', `${file}-2`, '--with-key']);
      assert.equal(backup.code, 2);
      assert.match(backup.stderr, /--passphrase-file FILE or POSTERN_BACKUP_PASSPHRASE/);
    });

    await t.test('does not rotate the key that the server holds', async (each) => {
      const refused = await store(each, dataDir, ['rotate-key']);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /^postern: process \d+ uses the data directory/);
    });
    await server.stop();

    await t.test('restores elsewhere with the key under a passphrase', async (each) => {
      const elsewhere = join(dataDir, '..', 'elsewhere');
      const wrong = await storeProcess(each, elsewhere, ['restore', file], {
        POSTERN_BACKUP_PASSPHRASE: 'something else',
      });
      assert.equal(wrong.code, 1);
      assert.match(wrong.stderr, /^postern: .*passphrase/);
      const passphraseFile = join(dataDir, '..', 'passphrase');
      await writeFile(passphraseFile, `${PASSPHRASE}\n`);
      const restored = await store(each, elsewhere, ['restore', file, '--passphrase-file', passphraseFile]);
      assert.equal(restored.code, 0, restored.stderr);
      assert.deepEqual(await descriptions(each, elsewhere), ['the one']);

      const again = await store(each, elsewhere, ['restore', file]);
      assert.equal(again.code, 1);
      assert.match(again.stderr, /^postern: .*already contains records/);
      const replaced = await store(each, elsewhere, ['restore', file, '--replace']);
      assert.equal(replaced.code, 0, replaced.stderr);
      for (const { stdout, stderr } of [wrong, restored]) assert(!`${stdout}${stderr}`.includes(PASSPHRASE));
    });

    await t.test(
      'names the key that a backup without its key needs, at the backup and at the restore',
      async (each) => {
        const backup = await store(each, dataDir, ['backup', withoutKey]);
        assert.match(backup.stdout, /does not contain the secret key \S+, which a restore requires/);
        const restored = await store(each, join(dataDir, '..', 'without-key'), ['restore', withoutKey]);
        assert.equal(restored.code, 0, restored.stderr);
        assert.match(restored.stdout, /cannot start without the secret key/);
      },
    );

    await t.test('rotates the key, and creates an API key for a locked-out operator', async (each) => {
      const keyBefore = await readFile(join(dataDir, 'secret.key'), 'utf8');
      const rotated = await store(each, dataDir, ['rotate-key']);
      assert.equal(rotated.code, 0, rotated.stderr);
      assert.notEqual(await readFile(join(dataDir, 'secret.key'), 'utf8'), keyBefore);
      const made = await store(each, dataDir, ['create-key', '--scopes', 'event_destinations:read']);
      assert.equal(made.code, 0, made.stderr);
      assert.match(made.stdout, /^postern_ak_[\w-]{43}\n$/, 'alone on standard output');
      assert.deepEqual(await descriptions(each, dataDir, KEY, made.stdout.trim()), ['the one']);
      const unknown = await store(each, dataDir, ['create-key', '--scopes', 'event_destination:read']);
      assert.equal(unknown.code, 1);
      assert.match(unknown.stderr, /event_destinations:read/);
    });
  });

  test('explains wrong usage', async (t) => {
    const dataDir = await tempDir(t);
    await mkdir(join(dataDir, 'x'));
    const cases: readonly [readonly string[], RegExp][] = [
      [['bakcup', 'x'], /unknown subcommand "bakcup"\. Did you mean "backup"/],
      [['backup'], /usage: postern store backup FILE/],
      [['restore', 'a', '--repalce'], /unknown flag --repalce\. Did you mean "--replace"/],
    ];
    for (const [args, message] of cases) {
      const command = await store(t, dataDir, args);
      assert.equal(command.code, 2);
      assert.match(command.stderr, message);
    }
  });
});
