import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { ofNode } from '../tls/capture-hello.ts';
import { until } from './support/until.ts';

const MOST = 8;
const world = await EdgeWorld.open({ after }, { POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: String(MOST) });
const { host } = await world.site(await world.httpResponse('ok'));
/** On Linux all of 127.0.0.0/8 is available. */
const elsewhere = process.platform === 'linux' ? { localAddress: '127.0.0.2' } : null;

async function refusals(): Promise<number> {
  const line = /postern_edge_handshake_failures_total\{reason="address_limit"\} (\d+)/.exec(await world.metrics());
  return Number(line?.[1] ?? 0);
}

/** How many more fit; they are closed again. */
async function room(): Promise<number> {
  const opened = [];
  try {
    for (;;) opened.push(await world.connect(host));
  } catch {
    // The limit was reached.
  }
  for (const socket of opened) socket.destroy();
  return opened.length;
}

async function assertRoomFor(count: number): Promise<void> {
  let last = -1;
  await until(async () => {
    last = await room();
    return last === count;
  }, `room for ${count}`).catch((error: Error) => assert.fail(`${error.message}: ${last}`));
}

suite('connections of one address', () => {
  test('rejects those beyond the limit, serves others, and reuses the room of closed ones', async () => {
    const held = await Promise.all(Array.from({ length: MOST }, () => world.connect(host)));
    const before = await refusals();
    for (let at = 0; at < 50; at += 1) await assert.rejects(world.connect(host));
    assert.equal(await refusals(), before + 50);
    if (elsewhere !== null) assert.equal(await world.status(host, '/', elsewhere), 200);
    held.pop()?.destroy();
    await assertRoomFor(1);
    for (const socket of held) socket.destroy();
    await assertRoomFor(MOST);
  });

  test('uncounts those that fail in their handshake or are reset', async () => {
    for (let round = 0; round < 25; round += 1) {
      await Promise.allSettled([
        world.connect('unknown.localhost'),
        world.connect(host, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
        world.connect(host).then((socket) => socket.destroy()),
        world.http2(host).then((session) => session.destroy()),
        silent().then((socket) => socket.resetAndDestroy()),
      ]);
    }
    await assertRoomFor(MOST);
  });

  test('silence and a slow ClientHello use places of their own address, until their timeout', async () => {
    const hello = await ofNode({ servername: host });
    const sockets = await Promise.all(Array.from({ length: MOST }, () => silent()));
    const dribble = setInterval(() => {
      for (const socket of sockets.slice(MOST / 2)) {
        const at = socket.bytesWritten;
        socket.write(hello.subarray(at, at + 1));
      }
    }, 50);
    await until(async () => {
      const left = await room();
      // Another worker may have counted a connection of `room` before one of these, which was then rejected.
      for (const [at, socket] of sockets.entries()) if (socket.destroyed) sockets[at] = await silent();
      return left === 0;
    }, 'all of them are counted');
    if (elsewhere !== null) assert.equal(await world.status(host, '/', elsewhere), 200);
    await until(() => sockets.every((socket) => socket.destroyed), 'all are ended');
    clearInterval(dribble);
    await assertRoomFor(MOST);
  });
});

function silent(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(world.port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
    socket.resume();
  });
}
