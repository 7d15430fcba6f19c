// Own process: measures memory.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { ALPN } from '../../../src/tunnel/protocol/protocol.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, localHttp } from '../support/fault-world.ts';
import { honestAgent } from '../support/honest-agent.ts';
import { dial } from '../support/raw-agent.ts';

/** The maximum that may wait; a thousand handshakes take long, so that `npm test` uses fewer. */
const SILENT = 1_000;
const SILENT_AGENTS = process.env['POSTERN_TEST_LONG'] === '1' ? 1_000 : 50;
const MB = 1_048_576;
const world = await TunnelWorld.open({ after });
const honest = await honestAgent({ after }, world);
const port = await localHttp({ after }, (_request, response) => response.end('new'));

async function connections(): Promise<number> {
  return Number(/postern_gateway_connections (\d+)/.exec(await world.edge.metrics())?.[1]);
}

/** A new agent gets in, and is served. */
async function newcomerGetsIn(): Promise<void> {
  const reasons: string[] = [];
  const agent = await world.agent([{ proto: 'https', addr: port }], {
    onEvent: (event) => {
      if (event.type === 'status' && event.reason !== null) reasons.push(event.reason);
    },
  });
  assert.deepEqual(reasons, [], 'it was turned away first');
  assert.equal((await world.edge.ask(hostOf(agent))).text, 'new');
  await agent.close();
}

test(`${SILENT} connections without a handshake lock nobody out, and are dropped`, async (t) => {
  const silent: Socket[] = [];
  t.after(() => {
    for (const socket of silent) socket.destroy();
  });
  while (silent.length < SILENT + 100) {
    const socket = connect(world.port, '127.0.0.1').on('error', () => {});
    silent.push(socket.resume());
    if (silent.length % 50 === 0) await once(socket, 'connect');
  }
  await newcomerGetsIn();
  await honest.check();
  assert.ok(
    silent.slice(0, 50).every(({ destroyed }) => destroyed),
    'the oldest make room',
  );
  await eventually('all are closed', () => silent.every(({ destroyed }) => destroyed), 60_000);
});

test('connections without a handshake from one address do not drop a slow agent of another address', async (t) => {
  const slow = connect({ host: '127.0.0.1', port: world.port, localAddress: '127.0.0.2' }).on('error', () => {});
  const silent: Socket[] = [];
  t.after(() => {
    for (const socket of [slow, ...silent]) socket.destroy();
  });
  await once(slow, 'connect');
  while (silent.length < SILENT + 100) {
    const socket = connect(world.port, '127.0.0.1').on('error', () => {});
    silent.push(socket.resume());
    if (silent.length % 50 === 0) await once(socket, 'connect');
  }
  await eventually('those of one address make room for each other', () => silent[0]?.destroyed === true);
  const agent = connectTls({ socket: slow, ca: [...world.edge.ca], ALPNProtocols: [ALPN], servername: 'localhost' });
  agent.on('error', () => {});
  await once(agent, 'secureConnect', { signal: AbortSignal.timeout(20_000) });
});

test(`${SILENT_AGENTS} agents that never send hello lock nobody out, and are dropped`, async (t) => {
  const before = process.memoryUsage().rss;
  const silent: TLSSocket[] = [];
  t.after(() => {
    for (const socket of silent) socket.destroy();
  });
  while (silent.length < SILENT_AGENTS + 50) {
    const batch = await Promise.all(Array.from({ length: 25 }, () => dial(world)));
    for (const socket of batch) silent.push(socket.resume());
  }
  await newcomerGetsIn();
  await honest.check();
  const grown = process.memoryUsage().rss - before;
  t.diagnostic(`memory of both ends grew by ${Math.round(grown / MB)} MB`);
  assert.ok(grown < 600 * MB, `${grown}`);
  await eventually('all are closed', () => silent.every(({ destroyed }) => destroyed), 60_000);
  await eventually('the gateway has let go of them', async () => (await connections()) === 2);
  await honest.check();
});
