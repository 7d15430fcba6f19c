import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
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
  /** SIGKILL to one process that serves the database; PostgreSQL then restarts all of them. False when there was none. */
  killBackend(database: string): Promise<boolean>;
  untilAnswers(): Promise<void>;
  close(): Promise<void>;
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

  return {
    url: first.url,
    end,
    start,
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
