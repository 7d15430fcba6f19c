import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

const KEY = `preset-${'k'.repeat(32)}`;

suite('life of the server process', { timeout: TIMEOUT_MS }, () => {
  test('prints ready once with all addresses, and holds its data directory of mode 0700 alone', async (t) => {
    const dataDir = join(await tempDir(t), 'new', 'data');
    const server = startServerProcess(t, dataDir);
    const line = await server.ready();
    assert.match(line.addresses.api, /^127\.0\.0\.1:[1-9]\d*$/);
    assert.equal(line.base_url, `http://${line.addresses.api}`);
    assert.equal(line['engine'], 'sqlite');
    assert.equal(line.data_dir, dataDir);
    assert.match(String(line['version']), /^\d+\.\d+\.\d+$/);
    assert.equal((await stat(dataDir)).mode & 0o777, 0o700);
    assert.equal((await fetch(`${line.base_url}/healthz`)).status, 200);
    assert.equal(server.lines().filter(({ msg }) => msg === 'ready').length, 1);

    const second = startServerProcess(t, dataDir);
    assert.deepEqual(await second.exited, { code: 1, signal: null });
    assert.match(second.stderr(), /^postern: process \d+ uses the data directory .*POSTERN_DATA_DIR\n$/);
    assert.equal((await fetch(`${line.base_url}/healthz`)).status, 200, 'the first one runs on');
  });

  test('rejects a secret key that others may read, and a data directory that they may write to, with the command that repairs it', async (t) => {
    const dataDir = join(await tempDir(t), 'the data');
    const first = startServerProcess(t, dataDir);
    await first.ready();
    first.child.kill('SIGTERM');
    await first.exited;
    const key = join(dataDir, 'secret.key');
    for (const [path, mode, good] of [
      [key, 0o604, 0o600],
      [key, 0o602, 0o600],
      [dataDir, 0o702, 0o700],
      [dataDir, 0o1777, 0o700],
    ] as const) {
      await chmod(path, mode);
      const server = startServerProcess(t, dataDir);
      assert.equal((await server.exited).code, 1, mode.toString(8));
      const [, command = ''] = /run "(chmod [^"]+)"/.exec(server.stderr()) ?? [];
      assert.equal(command, `chmod ${good.toString(8)} '${path}'`, server.stderr());
      execFileSync('sh', ['-c', command]);
      assert.equal((await stat(path)).mode & 0o777, good);
    }
    // A volume of Kubernetes belongs to the group of the pod.
    await chmod(key, 0o660);
    await chmod(dataDir, 0o2775);
    await startServerProcess(t, dataDir).ready();
  });

  test('rejects a data directory that is a file', async (t) => {
    const dataDir = join(await tempDir(t), 'a');
    await mkdir(dataDir);
    const server = startServerProcess(t, join(process.execPath, 'x'));
    assert.equal((await server.exited).code, 1);
    assert.match(server.stderr(), /^postern: cannot use the data directory .*POSTERN_DATA_DIR\)\n$/);
  });

  test('finishes a request in flight after SIGTERM, accepts no other, and exits 0', async (t) => {
    const server = startServerProcess(t, await tempDir(t), { env: { POSTERN_API_KEY: KEY } });
    const { addresses } = await server.ready();
    const port = Number(addresses.api.split(':')[1]);
    const body = JSON.stringify({ description: 'sent in two halves' });
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    let answer = '';
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.write(
      `POST /backends/http_response HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nService-Version: 2\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(answer, '', 'answered before the body was complete');
    server.child.kill('SIGTERM');
    while (!server.lines().some(({ msg }) => msg === 'draining'))
      await new Promise((resolve) => setTimeout(resolve, 10));
    await refused(port);
    socket.write(body.slice(10));
    await once(socket, 'close');
    assert.match(answer, /^HTTP\/1\.1 201 /);
    assert.match(answer, /sent in two halves/);
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });

  test('ends immediately on a second signal', async (t) => {
    const server = startServerProcess(t, await tempDir(t), {
      env: { POSTERN_API_KEY: KEY },
      args: ['--shutdown-timeout', '60'],
    });
    const { addresses } = await server.ready();
    const socket = connect(Number(addresses.api.split(':')[1]), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      `POST /backends/http_response HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nService-Version: 2\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    server.child.kill('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.equal(server.child.exitCode, null, 'did not wait for the request in flight');
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 1, signal: null });
  });
});

/**
 * Dials until the port is closed. The kernel may still complete a handshake while the server closes its listener, and
 * then resets the connection.
 */
async function refused(port: number): Promise<void> {
  for (;;) {
    const late = connect(port, '127.0.0.1');
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    if (error.code === 'ECONNREFUSED') return;
    assert.equal(error.code, 'ECONNRESET');
  }
}
