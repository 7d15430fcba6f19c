// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { projectRoot, shellBlocks } from '../docs/markdown.ts';
import { Terminal } from '../docs/terminal.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { LAUNCHER } from '../support/server-process.ts';
import { isLong } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';

const PAGE = 'docs/how-to/run-in-a-container.md';
const [start = '', publish = '', openConsole = '', open = '', postgres = '', move = '', upgrade = '', ...others] =
  shellBlocks(PAGE).map(({ text }) => text);

interface Machine {
  readonly terminal: Terminal;
  readonly folder: string;
  readonly api: string;
}

/** A folder with the Compose files, and a "docker" that runs containers as processes. */
async function machine(t: TestContext, hasDatabase = false): Promise<Machine> {
  const tasks: (() => Promise<void>)[] = [];
  // The server ends before its database and its folder go.
  t.after(async () => {
    for (const task of tasks.toReversed()) await task();
  });
  const databaseUrl = hasDatabase ? await database({ after: (task) => tasks.push(task) }) : '';
  const folder = await tempDir({ after: (task) => tasks.push(task) });
  for (const name of ['src', 'tools', 'console', 'package.json', 'node_modules'])
    await symlink(join(projectRoot, name), join(folder, name));
  await symlink(dirname(LAUNCHER), join(folder, 'bin'));
  for (const name of ['compose.yaml', 'compose.postgres.yaml'])
    await copyFile(join(projectRoot, name), join(folder, name));
  await mkdir(join(folder, 'data'));
  const api = `127.0.0.1:${await freePort()}`;
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  const env = {
    ...{ PATH, HOME: folder, FAKE_API: api, FAKE_DATABASE_URL: databaseUrl },
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  };
  const terminal = new Terminal({ cwd: folder, env });
  const fake = join(projectRoot, 'test/install/fake-compose.ts');
  await terminal.run(`docker() { '${process.execPath}' '${fake}' "$@"; }`);
  tasks.push(
    () => terminal.close(),
    async () => {
      const other = new Terminal({ cwd: folder, env });
      try {
        await other.run(`'${process.execPath}' '${fake}' compose stop`);
      } finally {
        await other.close();
      }
    },
  );
  return { terminal, folder, api };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

suite(PAGE, () => {
  test('starts, publishes, opens the console behind a login, and is upgraded with its data', async (t) => {
    assert.deepEqual(others, []);
    const { terminal, folder, api } = await machine(t);
    await terminal.run(start);
    assert.match(await terminal.run(publish), /app\.example\.com[\s\S]*Edges +1, with 1 route/);
    const console = openConsole.replace('127.0.0.1:7080', api);
    const published = await terminal.run(console);
    assert.match(published, /edge console\.example\.com/);
    assert.doesNotMatch(published, /warning/);
    // A person has a terminal there: "exec" allocates one.
    const shown = await terminal.run(
      `declare -f docker > docker.sh; script --quiet --return --command ". ./docker.sh; ${open.trim()}" /dev/null < /dev/null`,
    );
    assert.match(
      shown,
      /first one, once, within 24 hours\. It replaces earlier ones:\s+https:\/\/id\.example\.com\/invitation\?invite=/,
    );
    const upgraded = await terminal.run(upgrade);
    assert.match(upgraded, /migration +none: the store has schema version \d+/);
    assert.match(await terminal.run('docker compose exec postern postern status'), /Edges +2, with 2 routes/);
    const uninstall = shellBlocks('docs/how-to/uninstall.md').at(-1)?.text ?? '';
    assert.match(uninstall, /compose down --volumes/);
    await terminal.run(uninstall);
    assert.equal(existsSync(join(folder, 'data')), false);
  });

  test('an upgrade-check that sees another volume warns, as with a wrong name', async (t) => {
    const { terminal, folder } = await machine(t);
    await rm(join(folder, 'data'), { recursive: true });
    await mkdir(join(folder, 'data'));
    assert.match(
      await terminal.run('docker compose run --rm postern upgrade-check'),
      /^warning +store +there is no store/m,
    );
  });

  // `npm test` has the move, which ends in the same state.
  test('starts on PostgreSQL, with secrets that only the owner can read', { skip: !isLong }, async (t) => {
    const { terminal, folder } = await machine(t, true);
    await terminal.run(postgres);
    assert.equal((await stat(join(folder, '.env'))).mode & 0o777, 0o600);
    await terminal.run(publish);
    assert.match(
      await terminal.run('docker compose run --rm postern upgrade-check'),
      /; postgres store, schema version/,
    );
  });

  test('moves from SQLite to PostgreSQL with its edges and its secret key', async (t) => {
    const { terminal, folder } = await machine(t, true);
    await terminal.run(start);
    await terminal.run(publish);
    await terminal.run(move);
    assert.match(await terminal.run('docker compose exec postern postern status'), /app\.example\.com/);
    const key = (await readFile(join(folder, 'data', 'secret.key'), 'utf8')).trim();
    assert.ok((await readFile(join(folder, '.env'), 'utf8')).includes(`POSTERN_SECRET_KEY=${key}\n`));
    assert.match(
      await terminal.run('docker compose run --rm postern upgrade-check'),
      /; postgres store, schema version/,
    );
  });
});

async function database(cleanup: Cleanup): Promise<string> {
  const server = await startPostgres();
  cleanup.after(() => server.stop());
  const fresh = await freshDatabase(server);
  cleanup.after(() => fresh.drop());
  return fresh.url;
}
