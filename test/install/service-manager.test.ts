import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { systemClock } from '../../src/kit/clock.ts';
import { openInternalCa } from '../support/internal-ca.ts';
import { startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 200_000;

/**
 * The manager's end: a datagram socket, which Node lacks. Without room for descriptors, the one of BARRIER=1 is closed,
 * which tells systemd-notify that its message was read.
 */
const MANAGER = `
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
while True:
    print(manager.recv(65536).decode(), flush=True)
`;

async function openManager(t: TestContext): Promise<{ readonly socket: string; readonly received: () => string }> {
  const socket = join(await tempDir(t), 'notify');
  const listener = spawn('python3', ['-c', MANAGER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => listener.kill('SIGKILL'));
  let received = '';
  listener.stdout.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  await until(() => existsSync(socket), 'the manager listens');
  return { socket, received: () => received };
}

async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (!(await isTrue())) {
    assert(performance.now() < deadlineMs, `waited too long: ${what}`);
    await sleep(20);
  }
}

async function serialNumber(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  try {
    return await new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('secureConnect', () => resolve(socket.getPeerCertificate().serialNumber));
    });
  } finally {
    socket.destroy();
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended already.
  }
}

suite('a server under a service manager', { timeout: TIMEOUT_MS }, () => {
  test('reports readiness, signs of life, a reload and its end', async (t) => {
    const { socket, received } = await openManager(t);
    const folder = await tempDir(t);
    const ca = await openInternalCa({ dataDir: folder, domain: 'localhost', clock: systemClock });
    const files = {
      cert: join(folder, 'cert.pem'),
      key: join(folder, 'key.pem'),
      config: join(folder, 'postern-server.yaml'),
    };
    const writePair = async (): Promise<void> => {
      const leaf = await ca.mintLeaf({ hosts: ['localhost'], ips: ['127.0.0.1'], days: 1 });
      await writeFile(`${files.cert}.new`, leaf.certificatePem);
      await writeFile(files.key, leaf.privateKeyPem);
      await rename(`${files.cert}.new`, files.cert);
    };
    await writePair();
    await writeFile(files.config, 'log_level: info\n');
    const server = startServerProcess(t, join(folder, 'data'), {
      args: ['--api-tls-cert', files.cert, '--api-tls-key', files.key, '--config', files.config],
      env: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '1000000' },
    });
    const { addresses } = await server.ready();
    const port = Number(addresses.api.split(':').at(-1));
    await until(() => /READY=1\nSTATUS=Serving the API at https:/.test(received()), 'READY=1');
    await until(() => (received().match(/WATCHDOG=1/g) ?? []).length >= 2, 'WATCHDOG=1');

    const before = await serialNumber(port);
    await writePair();
    await writeFile(files.config, 'log_level: info\nregion: eu\n');
    server.child.kill('SIGHUP');
    await until(() => /RELOADING=1\nMONOTONIC_USEC=\d+[\s\S]*READY=1/.test(received()), 'RELOADING=1');
    await until(async () => (await serialNumber(port)) !== before, 'the new certificate');
    const [reloaded] = server.lines().filter(({ msg }) => /^reloaded/.test(String(msg)));
    assert.deepEqual(reloaded?.['settings'], ['region']);

    await writeFile(files.config, 'log_level: loud\n');
    server.child.kill('SIGHUP');
    await until(
      () => server.lines().some(({ msg }) => /^failed to reload/.test(String(msg))),
      'the mistake in the log',
    );
    assert.equal(server.child.exitCode, null, 'a mistake in the file ended the server');

    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
    await until(() => received().includes('STOPPING=1'), 'STOPPING=1');
  });

  test('tells the manager which process goes on after a handover, and not that the service stops', async (t) => {
    const { socket, received } = await openManager(t);
    const dataDir = await tempDir(t);
    const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '1000000' };
    const server = startServerProcess(t, dataDir, { env });
    await server.ready();
    await until(() => received().includes('READY=1'), 'READY=1');
    server.child.kill('SIGUSR2');
    await until(() => /MAINPID=\d+/.test(received()), 'MAINPID');
    const pid = Number(/MAINPID=(\d+)/.exec(received())?.[1]);
    t.after(() => endProcess(pid));
    // The pipe of its output closes with the successor, so its own exit is what counts.
    await until(() => server.child.exitCode !== null, 'the end of the first process');
    assert.equal(server.child.exitCode, 0);
    assert.notEqual(pid, server.child.pid);
    assert(!received().includes('STOPPING=1'));
    const signs = () => (received().match(/WATCHDOG=1/g) ?? []).length;
    const before = signs();
    await until(() => signs() > before + 1, 'signs of life of the successor');
    process.kill(pid, 'SIGTERM');
    await until(() => received().includes('STOPPING=1'), 'STOPPING=1');
    await server.exited;
  });

  test('serves where systemd-notify is missing', async (t) => {
    const env = { NOTIFY_SOCKET: '/nonexistent/notify', PATH: '/nonexistent' };
    const server = startServerProcess(t, await tempDir(t), { env });
    const { base_url: url } = await server.ready();
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });
});
