import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemdSockets } from '../../src/app/main/sockets/listening-sockets.ts';
import { tempDir } from '../support/temp-dir.ts';

const HOLDER = fileURLToPath(new URL('./socket-holder.ts', import.meta.url));
const LAUNCHER = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url));

test('reads the sockets that systemd passes to this process, and to no other', () => {
  const env = { LISTEN_PID: '7', LISTEN_FDS: '2', LISTEN_FDNAMES: 'edge:api', OTHER: 'kept' };
  assert.deepEqual(systemdSockets(env, 7), [
    { name: 'edge', fd: 3, wanted: null, address: null },
    { name: 'api', fd: 4, wanted: null, address: null },
  ]);
  assert.deepEqual(env, { OTHER: 'kept' });
  assert.deepEqual(systemdSockets({ LISTEN_PID: '8', LISTEN_FDS: '1', LISTEN_FDNAMES: 'edge' }, 7), []);
  assert.deepEqual(systemdSockets({}, 7), []);
});

test('rejects a socket whose name is no listener', () => {
  assert.throws(() => systemdSockets({ LISTEN_PID: '7', LISTEN_FDS: '1', LISTEN_FDNAMES: 'postern.socket' }, 7), {
    code: 'ERR_POSTERN_LISTEN',
    message: /a socket named "postern.socket": set FileDescriptorName .* to one of api, edge, edge_http, tunnel/,
  });
});

test('a connection made while no server runs is answered by the next one', { timeout: 240_000 }, async (t) => {
  const dataDir = join(await tempDir({ after: (task) => t.after(task) }), 'data');
  const command = [process.execPath, LAUNCHER, 'server', '--roles', 'api', '--data-dir', dataDir];
  const holder = spawn(process.execPath, [HOLDER, '500', ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  createInterface({ input: holder.stdout }).on('line', (line) => lines.push(line));
  const line = async (start: string): Promise<string> => {
    while (!lines.some((each) => each.startsWith(start))) await sleep(10);
    return lines.find((each) => each.startsWith(start)) ?? '';
  };
  t.after(async () => {
    holder.kill('SIGKILL');
    if (holder.exitCode === null && holder.signalCode === null) await once(holder, 'exit');
  });
  const url = `http://127.0.0.1:${(await line('port')).split(' ')[1]}/healthz`;
  const served = async (): Promise<void> => {
    while ((await fetch(url)).status !== 200) await sleep(20);
  };
  const pid = async (): Promise<number> => Number(await readFile(join(dataDir, 'postern.pid'), 'utf8'));
  await served();
  process.kill(await pid(), 'SIGTERM');
  await line('ended 1');
  // Nobody accepts now.
  assert.ok([200, 503].includes((await fetch(url)).status));
  await served();
  process.kill(await pid(), 'SIGTERM');
  await line('ended 2');
});
