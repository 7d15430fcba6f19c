import { spawn } from 'node:child_process';
import {
  appendFileSync,
  chownSync,
  cpSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { execute, startUnsharedPostgres } from './postgres.ts';

/** A PostgreSQL that no other test file uses, so that it can be stopped, killed and restarted. */
export interface OwnPostgres {
  readonly url: string;
  /** Ends the whole server: `SIGINT` is a fast shutdown, `SIGQUIT` an immediate one, `SIGKILL` a crash. */
  end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  /** On the same data and the same port. */
  start(): Promise<void>;
  /**
   * SIGKILL to one process that serves the database; PostgreSQL then restarts all of them. False when there was none.
   */
  killBackend(database: string): Promise<boolean>;
  untilAnswers(): Promise<void>;
  /** A streaming standby of it, on a port of its own. Restarts this server. Closed with it. */
  addStandby(): Promise<Standby>;
  close(): Promise<void>;
}

export interface Standby {
  readonly url: string;
  /** Until everything that the primary has committed is here. */
  untilCaughtUp(): Promise<void>;
  promote(): Promise<void>;
}

const UNPRIVILEGED_ID = 65_534;
const DEADLINE_MS = 30_000;

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const first = await startUnsharedPostgres();
  const dataDir = await dataDirectory(first.url);
  const command = readFileSync(`/proc/${postmasterOf(dataDir)}/cmdline`, 'utf8')
    .split('\0')
    .slice(0, -1);
  const closers: (() => Promise<void>)[] = [];

  async function end(signal: NodeJS.Signals): Promise<void> {
    process.kill(postmasterOf(dataDir), signal);
    // The processes that served connections notice by themselves that the postmaster is gone.
    await until(() => processesIn(dataDir).length === 0, 'PostgreSQL did not end');
    // A killed server leaves it, and its number may still be a zombie's: the next start would refuse.
    rmSync(join(dataDir, 'postmaster.pid'), { force: true });
  }

  async function start(): Promise<void> {
    closers.push(launchAgain(command, dirname(dataDir)));
    await untilAnswers(first.url);
  }

  async function addStandby(): Promise<Standby> {
    const home = mkdtempSync(join(tmpdir(), 'postern-standby-'));
    const port = await freePort();
    await end('SIGINT');
    copyAsStandby(dataDir, join(home, 'data'), new URL(first.url).port);
    await start();
    const flags = command.map((word) =>
      word === dataDir ? join(home, 'data') : word.startsWith('port=') ? `port=${port}` : word,
    );
    const stop = launchAgain(flags, home);
    closers.push(async () => {
      await stop();
      rmSync(home, { recursive: true, force: true });
    });
    const url = new URL(first.url);
    url.port = String(port);
    await untilAnswers(url.href);
    return {
      url: url.href,
      untilCaughtUp: async () => {
        const [row] = await rowsOf(first.url, 'SELECT pg_current_wal_lsn()::text AS lsn');
        await untilRow(url.href, `SELECT pg_last_wal_replay_lsn() >= '${String(row?.['lsn'])}'::pg_lsn AS done`);
      },
      promote: () => untilRow(url.href, 'SELECT pg_promote(true, 30) AS done'),
    };
  }

  return {
    url: first.url,
    end,
    start,
    addStandby,
    killBackend: async (database) => {
      const pid = await anyBackend(first.url, database);
      if (pid === null) return false;
      process.kill(pid, 'SIGKILL');
      return true;
    },
    untilAnswers: () => untilAnswers(first.url),
    close: async () => {
      if (processesIn(dataDir).length > 0) await end('SIGINT');
      for (const close of closers) await close();
      await first.stop();
    },
  };
}

/** The server is stopped, so a copy of its files is consistent: `pg_basebackup` is not among the binaries in npm. */
function copyAsStandby(from: string, to: string, primaryPort: string): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, mode: 0 });
  writeFileSync(join(to, 'standby.signal'), '');
  appendFileSync(
    join(to, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${primaryPort} user=postgres'\n`,
  );
  if (process.getuid?.() !== 0) return;
  chownSync(dirname(to), UNPRIVILEGED_ID, UNPRIVILEGED_ID);
  for (const entry of ['.', ...(readdirSync(to, { recursive: true }) as string[])]) {
    lchownSync(join(to, entry), UNPRIVILEGED_ID, UNPRIVILEGED_ID);
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

async function untilRow(url: string, sql: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while ((await rowsOf(url, sql))[0]?.['done'] !== true) {
    if (Date.now() > deadline) throw new Error(`it did not become true: ${sql}`);
    await sleep(20);
  }
}

/** The shell stops the server when its standard input closes, which happens when the test process ends in any way. */
function launchAgain(command: readonly string[], home: string): () => Promise<void> {
  const identity = process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {};
  const script = '"$@" >>"$HOME/log" 2>&1 & server=$!; cat >/dev/null; kill -INT $server 2>/dev/null; wait $server';
  const shell = spawn('/bin/sh', ['-c', script, 'sh', ...command], {
    ...identity,
    cwd: home,
    env: { HOME: home, PATH: process.env['PATH'] ?? '' },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  const exited = new Promise<void>((settle) => shell.once('exit', () => settle()));
  return () => {
    shell.ref();
    shell.stdin?.end();
    return exited;
  };
}

function postmasterOf(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** PostgreSQL's processes all work in the data directory; a zombie has no working directory. */
function processesIn(dataDir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === dataDir;
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function dataDirectory(url: string): Promise<string> {
  const rows = await rowsOf(url, 'SHOW data_directory');
  return String(rows[0]?.['data_directory']);
}

async function anyBackend(url: string, database: string): Promise<number | null> {
  const rows = await rowsOf(
    url,
    `SELECT pid FROM pg_stat_activity WHERE datname = '${database}' ORDER BY state = 'active' DESC, random() LIMIT 1`,
  );
  return rows[0] === undefined ? null : Number(rows[0]['pid']);
}

async function rowsOf(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function untilAnswers(url: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      return await execute(url, 'SELECT 1');
    } catch (error) {
      if (Date.now() > deadline) throw new Error('PostgreSQL did not start again', { cause: error });
      await sleep(50);
    }
  }
}

async function until(isTrue: () => boolean, otherwise: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(otherwise);
    await sleep(20);
  }
}
