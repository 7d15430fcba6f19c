import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fakeGateway, localService } from './support/agent-world.ts';

const CHILD = fileURLToPath(new URL('./support/agent-process.ts', import.meta.url));

test('keeps its connection after its machine slept longer than the dead-connection timeout', async (t) => {
  const gateway = await fakeGateway(t);
  const { port } = await localService(t, (_request, response) => response.end('awake'));
  const child: ChildProcess = fork(CHILD, [gateway.addr, gateway.ca, String(port)], { execArgv: [] });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const [{ tunnel, deadAfterMs }] = (await once(child, 'message')) as [{ tunnel: string; deadAfterMs: number }];
  const connection = await gateway.connection(0);
  // From here on it has received everything that there is.
  await once(connection.session, 'ping');
  await sleep(100);
  child.kill('SIGSTOP');
  await sleep(3 * deadAfterMs);
  const pinged = once(connection.session, 'ping');
  child.kill('SIGCONT');
  // The agent immediately pings the peer.
  await pinged;
  assert.equal((await connection.request(tunnel)).body, 'awake');
  assert.equal(gateway.connections.length, 1);
});
