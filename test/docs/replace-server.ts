import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PosternProcess, startServerProcess } from '../support/server-process.ts';
import type { ShellBlock } from './markdown.ts';
import type { PageRun } from './reader.ts';

const FOLDER = 'replaced';
const TAKEN_OVER = 'another process has taken over';
const DEADLINE_MS = 120_000;

/** A server for the page on upgrades: the reader's own stays. The page's second block ends it. */
let server: PosternProcess | null = null;
const tasks: (() => Promise<void>)[] = [];

export async function replaceServer({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  server = startServerProcess({ after: (task) => tasks.push(task) }, FOLDER, {
    cwd: reader.folder,
    launcher: join(reader.folder, 'bin', 'postern.mjs'),
    env: { POSTERN_SHUTDOWN_TIMEOUT: '1' },
  });
  await server.ready();
  assert.match(await terminal.run(`POSTERN_DATA_DIR=${FOLDER} ${text}`), /Process \d+ serves now \(version /);
}

export async function replaceBySignal({ text }: ShellBlock, { reader, terminal }: PageRun): Promise<void> {
  const running = server as PosternProcess;
  const successors = (): readonly number[] =>
    running.lines().flatMap(({ msg, pid }) => (msg === TAKEN_OVER ? [Number(pid)] : []));
  try {
    const pidFile = join(reader.folder, FOLDER, 'postern.pid');
    await until(async () => (await readFile(pidFile, 'utf8')).trim() === String(successors()[0]));
    await terminal.run(text.replace('postern-data', FOLDER));
    await until(async () => successors().length === 2);
  } finally {
    // Successors hold the pipes of the process that was started here.
    for (const pid of successors()) stop(pid);
    for (const task of tasks) await task();
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, 'the server was not replaced');
    await sleep(20);
  }
}

function stop(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process is gone already.
  }
}
