import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PosternProcess, startServerProcess } from '../support/server-process.ts';
import type { ShellBlock } from './markdown.ts';
import type { PageRun } from './reader.ts';

const FOLDER = 'with-sites';
const APPLIED = 'applied the sites';
const DEADLINE_MS = 120_000;

/** A server for the page on files of sites: the reader's own stays. The page's last block ends it. */
let server: PosternProcess | null = null;
const tasks: (() => Promise<void>)[] = [];

export async function startWithSites({ text }: ShellBlock, { reader }: PageRun): Promise<void> {
  const [, , ...args] = text.trim().split(' ');
  server = startServerProcess({ after: (task) => tasks.push(task) }, FOLDER, {
    cwd: reader.folder,
    launcher: join(reader.folder, 'bin', 'postern.mjs'),
    args,
  });
  await server.ready();
  assert.equal(timesApplied(server), 1);
}

export async function changeSites({ text }: ShellBlock, { terminal }: PageRun): Promise<void> {
  const running = server as PosternProcess;
  try {
    await terminal.run(text.replace('postern-data', FOLDER));
    const deadlineMs = performance.now() + DEADLINE_MS;
    while (timesApplied(running) < 2) {
      assert(performance.now() < deadlineMs, `the server did not apply the file again:\n${running.stdout()}`);
      await sleep(20);
    }
  } finally {
    for (const task of tasks) await task();
  }
}

function timesApplied(running: PosternProcess): number {
  return running.lines().filter(({ msg }) => msg === APPLIED).length;
}
