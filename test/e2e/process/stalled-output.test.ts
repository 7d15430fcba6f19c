import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LAUNCHER } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const TIMEOUT_MS = 240_000;
const KEY = `preset-${'k'.repeat(32)}`;
const AUTHORIZED = { authorization: `Bearer ${KEY}`, 'service-version': '2' };
/** A log line repeats the path: so a hundred requests exceed a pipe and the server's buffer. */
const LONG_PATH = `/${'x'.repeat(14_000)}`;

interface Started {
  readonly pid: number;
  readonly exited: Promise<unknown[]>;
  signal(name: NodeJS.Signals): void;
}

async function start(
  t: TestContext,
  stdout: number | 'pipe',
): Promise<Started & { socket: NodeJS.ReadableStream | null }> {
  const child = spawn(process.execPath, [LAUNCHER, 'server', '--data-dir', await tempDir(t)], {
    stdio: ['ignore', stdout, 'inherit'],
    env: {
      ...process.env,
      POSTERN_API_KEY: KEY,
      POSTERN_ROLES: 'api',
      POSTERN_API_LISTEN: '127.0.0.1:0',
      POSTERN_API_RATE_LIMIT: '0',
    },
  });
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { pid: child.pid ?? 0, exited, socket: child.stdout, signal: (name) => child.kill(name) };
}

/** A pipe whose writing end blocks, as a shell creates it. */
function fifo(t: TestContext, path: string): { readonly writeFd: number; readonly fd: number } {
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(path, constants.O_WRONLY);
  t.after(() => {
    closeSync(fd);
    closeSync(writeFd);
  });
  return { fd, writeFd };
}

function readNow(fd: number): string {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.alloc(65_536);
    try {
      const count = readSync(fd, chunk);
      if (count === 0) break;
      chunks.push(chunk.subarray(0, count));
    } catch {
      break;
    }
  }
  return Buffer.concat(chunks).toString();
}

async function readUntil(read: () => string, isEnough: (text: string) => boolean): Promise<string> {
  let text = '';
  while (!isEnough(text)) {
    await sleep(5);
    text += read();
  }
  return text;
}

function baseUrlIn(text: string): string {
  return (JSON.parse(text.split('\n').find((line) => line.includes('"msg":"ready"')) ?? '') as { base_url: string })
    .base_url;
}

async function manyRequests(baseUrl: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const answer = await fetch(`${baseUrl}${LONG_PATH}`, { headers: AUTHORIZED, signal: AbortSignal.timeout(30_000) });
    await answer.arrayBuffer();
    assert.equal(answer.status, 404);
  }
}

async function droppedBy(baseUrl: string): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`, { headers: AUTHORIZED })).text();
  return Number(/^postern_log_dropped_lines_total (\d+)$/m.exec(text)?.[1]);
}

suite('standard output that is not read', { timeout: TIMEOUT_MS }, () => {
  test('does not stop the server: lines are dropped, counted, and reported once when reading resumes', async (t) => {
    const { fd, writeFd } = fifo(t, join(await tempDir(t), 'stdout'));
    const server = await start(t, writeFd);
    const baseUrl = baseUrlIn(
      await readUntil(
        () => readNow(fd),
        (text) => text.includes('"msg":"ready"'),
      ),
    );
    await manyRequests(baseUrl, 95);
    // Request lines are buffered briefly before they are written.
    while ((await droppedBy(baseUrl)) === 0) await sleep(20);
    assert.equal((await fetch(`${baseUrl}/healthz`)).status, 200);
    const text = await readUntil(
      () => readNow(fd),
      (read) => read.includes('dropped_lines'),
    );
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const gaps = lines.filter((line) => line['dropped_lines'] !== undefined);
    assert.equal(gaps.length, 1);
    assert.equal(gaps[0]?.['dropped_lines'], await droppedBy(baseUrl));
    assert.equal(gaps[0]?.['level'], 'warn');
    server.signal('SIGTERM');
    await server.exited;
    assert.match(readNow(fd), /"msg":"drained"/);
  });

  test('does not keep the server from exiting', async (t) => {
    const server = await start(t, 'pipe');
    const { socket } = server;
    assert.ok(socket !== null);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    while (!text.includes('"msg":"ready"')) await sleep(5);
    socket.pause();
    await manyRequests(baseUrlIn(text), 95);
    server.signal('SIGTERM');
    assert.deepEqual(await server.exited, [0, null]);
  });

  test('does not stop the server when its reader is gone', async (t) => {
    const server = await start(t, 'pipe');
    const { socket } = server;
    assert.ok(socket !== null);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    while (!text.includes('"msg":"ready"')) await sleep(5);
    (socket as unknown as { destroy(): void }).destroy();
    const baseUrl = baseUrlIn(text);
    await manyRequests(baseUrl, 3);
    await sleep(100);
    assert.equal((await fetch(`${baseUrl}/healthz`)).status, 200);
    assert.ok((await droppedBy(baseUrl)) >= 3);
  });

  test('loses and reorders nothing when it is a file', async (t) => {
    const path = join(await tempDir(t), 'log');
    const fd = openSync(path, 'a');
    t.after(() => closeSync(fd));
    const server = await start(t, fd);
    const baseUrl = baseUrlIn(
      await readUntil(
        () => '',
        () => readFileSync(path, 'utf8').includes('"msg":"ready"'),
      ).then(() => readFileSync(path, 'utf8')),
    );
    await manyRequests(baseUrl, 20);
    server.signal('SIGTERM');
    await server.exited;
    const lines = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(lines.filter(({ msg }) => msg === 'request').length, 20);
    assert.deepEqual(lines.map(({ msg }) => msg).slice(-3), ['stopping', 'draining', 'drained']);
    const times = lines.map(({ time }) => String(time));
    assert.deepEqual(times, times.toSorted());
  });
});
