import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, test } from 'node:test';
import { freePortsOn, ownAddresses } from '../support/cluster/own-addresses.ts';
import { Wire } from '../support/cluster/wire.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { eventually } from './support/fault-world.ts';

const [host = ''] = ownAddresses(1);
const [tcpPort = 0, wirePort = 0] = await freePortsOn(host, 2);
const world = await TunnelWorld.open({ after }, { POSTERN_TCP_PORTS: `${host}:${tcpPort}-${tcpPort}` });
const wire = await Wire.open({ after }, { host, port: wirePort }, { host: '127.0.0.1', port: world.port });

async function service(answer: string): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}).on('data', () => socket.end(answer))).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  after(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function visit(): Promise<string> {
  const socket = connect(tcpPort, host, () => socket.write('hello')).on('error', () => {});
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await new Promise((resolve) => {
    socket.once('close', resolve);
  });
  return text;
}

for (const state of ['cut', 'black-hole'] as const) {
  test(`the port of an agent that was killed (${state}) is free for the next agent of its credential`, async (t) => {
    wire.set('', 'open');
    const tunnel = (addr: number) => ({ proto: 'tcp' as const, addr, port: tcpPort });
    const killed = await world.agent([tunnel(await service('first'))], {
      serverAddr: `${host}:${wirePort}`,
      servername: 'localhost',
    });
    assert.equal(await visit(), 'first');
    wire.set('', state);
    const authtoken = (await world.edge.api('POST', '/credentials', {})).token;
    const stranger = await world.agent([tunnel(await service('stranger'))], { authtoken });
    assert.match(stranger.tunnels[0]?.problem ?? '', /is in use/, 'it is kept for its own credential');
    await stranger.close();
    const beganMs = performance.now();
    const next = await world.agent([tunnel(await service('next'))]);
    await eventually('it has the port', () => next.tunnels[0]?.status === 'online');
    t.diagnostic(`after ${Math.round(performance.now() - beganMs)} ms`);
    assert.equal(await visit(), 'next');
    // An agent that is alive keeps it.
    const late = await world.agent([tunnel(await service('late'))]);
    assert.match(late.tunnels[0]?.problem ?? '', /is in use/);
    await Promise.all([killed.close(), late.close(), next.close()]);
  });
}
