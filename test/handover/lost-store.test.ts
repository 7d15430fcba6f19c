import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { ApiConnection } from '../support/api-connection.ts';
import { type PosternProcess, startPostern, startServerProcess } from '../support/server-process.ts';
import { isLong } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY } from '../support/test-world.ts';
import { eventually } from './handover-world.ts';

// Own process: takes long.

const TIMEOUT_MS = 240_000;
const ENV = { POSTERN_API_KEY: TEST_API_KEY, POSTERN_ROLES: 'api', POSTERN_API_RATE_LIMIT: '0' };

interface World {
  readonly dataDir: string;
  readonly postern: PosternProcess;
  /** A copy of the database from before the key was deleted. */
  readonly older: string;
  readonly deletedKey: string;
  api(token?: string): ApiConnection;
}

/** Each takes what the running server has acknowledged. */
const LOSSES: Readonly<Record<string, (world: World, file: string) => void>> = {
  'a database that was deleted': (_world, file) => rmSync(file),
  'a database that was deleted with its log': (_world, file) => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  },
  'a database that was emptied': (_world, file) => truncateSync(file, 0),
  'a database that an older one replaced': ({ older }, file) => renameSync(older, file),
  'a database that an older one replaced, with its log gone': ({ older }, file) => {
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    renameSync(older, file);
  },
  'a log that was deleted': (_world, file) => rmSync(`${file}-wal`),
  'a log that was deleted with its index': (_world, file) => {
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  },
};

suite('a handover is of one store', { timeout: TIMEOUT_MS }, () => {
  for (const [at, [loss, lose]] of Object.entries(LOSSES).entries()) {
    test(`${loss} is refused, and the running server goes on`, async (t) => {
      const world = await open(t);
      const { dataDir, postern } = world;
      const marker = (): string => readFileSync(join(dataDir, 'last-commit'), 'utf8');
      lose(world, join(dataDir, 'postern.sqlite'));
      const before = marker();
      const { code, stderr } = await restarted(t, dataDir);
      assert.match(stderr, /postern\.sqlite.*(removed|replaced|truncated|missing).*The running server continues/s);
      assert.equal(code, 1);
      // A signal takes the same way as the command.
      const isSignaled = isLong || at === 0;
      if (isSignaled) process.kill(postern.child.pid ?? 0, 'SIGUSR2');
      await eventually(() => failures(postern) === (isSignaled ? 2 : 1));
      assert.equal(postern.lines().filter(({ msg }) => msg === 'another process has taken over').length, 0);
      assert.equal(marker(), before);
      assert.equal((await world.api(world.deletedKey).send('GET', '/api_keys')).status, 401);
      const { body } = await world.api().send('GET', '/problems');
      assert.match(JSON.stringify(body), /postern\.sqlite/);
    });
  }

  test('another data directory is refused, and nothing is made there', async (t) => {
    const folder = await tempDir(t);
    const config = join(folder, 'postern-server.yaml');
    const dataDir = join(folder, 'one');
    await writeFile(config, `data_dir: ${dataDir}\n`);
    const world = await open(t, dataDir, { POSTERN_CONFIG: config });
    const other = join(folder, 'other');
    await writeFile(config, `data_dir: ${other}\n`);
    const refused = await restarted(t, dataDir);
    assert.match(refused.stderr, /uses the data directory \S+one, and the settings now name \S+other.*continues/s);
    assert.equal(refused.code, 1);
    assert.equal(existsSync(other), false);
    // A copy of the store is another one too.
    mkdirSync(other);
    for (const name of ['postern.sqlite', 'secret.key']) copyFileSync(join(dataDir, name), join(other, name));
    assert.equal((await restarted(t, dataDir)).code, 1);
    await writeFile(config, `data_dir: ${folder}/other/../one\n`);
    assert.equal((await restarted(t, dataDir)).code, 0);
    await eventually(
      () => world.postern.lines().some(({ msg }) => msg === 'drained'),
      () => world.postern.stdout(),
    );
  });
});

async function open(t: TestContext, given?: string, env: Readonly<Record<string, string>> = {}): Promise<World> {
  const dataDir = given ?? (await tempDir(t));
  const flags = ['server', ...(given === undefined ? ['--data-dir', dataDir] : []), '--api-listen', '127.0.0.1:0'];
  const started: { postern?: PosternProcess } = {};
  // First: the process that took over holds the pipes of the one that was started here.
  t.after(() => {
    for (const { pid, msg } of started.postern?.lines() ?? []) {
      if (msg === 'a new process is ready to take over') end(Number(pid));
    }
  });
  const postern =
    given === undefined
      ? startServerProcess(t, dataDir, { env: { ...ENV, ...env } })
      : startPostern(t, { args: flags, env: { ...ENV, ...env } });
  started.postern = postern;
  const address = (await postern.ready()).addresses.api;
  const open: ApiConnection[] = [];
  t.after(() => {
    for (const connection of open) connection.close();
  });
  const api = (token: string = TEST_API_KEY): ApiConnection => {
    const connection = new ApiConnection(address, token);
    open.push(connection);
    return connection;
  };
  const key = (await api().send('POST', '/api_keys', { description: 'deleted later' })).body;
  const older = join(await tempDir(t), 'older.sqlite');
  const backup = await api().send('GET', '/api_keys');
  assert.equal(backup.status, 200);
  copyFileSync(join(dataDir, 'postern.sqlite'), older);
  assert.equal((await api().send('DELETE', `/api_keys/${key.id}`)).status, 204);
  return { dataDir, postern, older, deletedKey: key.token, api };
}

async function restarted(t: TestContext, dataDir: string): Promise<{ code: number | null; stderr: string }> {
  const command = startPostern(t, { args: ['restart', '--data-dir', dataDir] });
  const { code } = await command.exited;
  return { code, stderr: command.stderr() };
}

function failures(postern: PosternProcess): number {
  return postern.lines().filter(({ msg }) => msg === 'no other process took over: this one continues').length;
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process is gone already.
  }
}
