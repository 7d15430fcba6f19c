import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { ownerOf } from '../../../src/kit/net/shared-places.ts';
import { AddressCounter } from '../../../src/proxy/edge/admission.ts';
import { ofNode } from './capture-hello.ts';
import { exchange, openTlsWorld, type TlsWorld, until } from './tls-world.ts';

function dial(t: TestContext, world: TlsWorld): Socket {
  const socket = connect(world.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  t.after(() => socket.destroy());
  return socket;
}

async function closed(socket: Socket): Promise<number> {
  const started = performance.now();
  // Not `once`, which would reject when the end is a reset.
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return performance.now() - started;
}

suite('connections in their handshake', () => {
  test('are closed when the client stays silent', async (t) => {
    const world = await openTlsWorld(t, { helloTimeoutMs: 150 });
    const tookMs = await closed(dial(t, world));
    assert.ok(tookMs > 100, `${tookMs} ms`);
    assert.deepEqual(world.failures, ['hello_timeout']);
    await until(() => world.front.connectionCount === 0);
  });

  test('are closed when the hello trickles: a byte does not extend the deadline', async (t) => {
    const world = await openTlsWorld(t, { helloTimeoutMs: 300 });
    world.setEdge('app.localhost');
    const hello = await ofNode({ servername: 'app.localhost' });
    const socket = dial(t, world);
    let sent = 0;
    const drip = setInterval(() => socket.write(hello.subarray(sent, ++sent)), 10);
    t.after(() => clearInterval(drip));
    const tookMs = await closed(socket);
    assert.ok(tookMs < 5000 && sent < hello.length, `${tookMs} ms, ${sent} bytes`);
    assert.deepEqual(world.failures, ['hello_timeout']);
  });

  test('are closed when the client sends nothing after its hello, or only trickles', async (t) => {
    const world = await openTlsWorld(t, { handshakeTimeoutMs: 300 });
    world.setEdge('app.localhost');
    const hello = await ofNode({ servername: 'app.localhost', maxVersion: 'TLSv1.2' });
    const silent = dial(t, world);
    silent.write(hello);
    const dripping = dial(t, world);
    dripping.write(hello);
    // The header of a long record that then arrives byte by byte.
    dripping.write(Buffer.from([22, 3, 3, 0x10, 0]));
    const drip = setInterval(() => dripping.write(Buffer.from([0])), 20);
    t.after(() => clearInterval(drip));
    await Promise.all([closed(silent), closed(dripping)]);
    assert.deepEqual(await world.failed(2), ['handshake_timeout', 'handshake_timeout']);
    assert.equal(world.front.pendingCount, 0);
  });

  test('are served when the hello trickles but in time', async (t) => {
    const world = await openTlsWorld(t);
    world.setEdge('app.localhost');
    const hello = await ofNode({ servername: 'app.localhost' });
    const socket = connect(world.port, '127.0.0.1').setNoDelay(true);
    t.after(() => socket.destroy());
    for (let at = 0; at < hello.length; at += 40) {
      socket.write(hello.subarray(at, at + 40));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const [answer] = (await once(socket, 'data')) as [Buffer];
    // A ServerHello, in a handshake record.
    assert.deepEqual([answer[0], answer[5]], [22, 2]);
  });

  test('that end on their own are counted and dropped', async (t) => {
    const world = await openTlsWorld(t);
    world.setEdge('app.localhost');
    const hello = await ofNode({ servername: 'app.localhost' });
    dial(t, world).end();
    dial(t, world).end(hello.subarray(0, 100));
    const reset = dial(t, world);
    reset.write(hello, () => reset.resetAndDestroy());
    // Ends right after its hello.
    dial(t, world).end(hello);
    assert.deepEqual(await world.failed(4), ['closed', 'closed', 'closed', 'closed']);
    await until(() => world.front.connectionCount === 0);
    assert.equal(world.front.pendingCount, 0);
  });

  test('are limited per address and in total, and others are rejected immediately', async (t) => {
    const world = await openTlsWorld(t, { maxPendingPerAddress: 3, maxPending: 4 });
    world.setEdge('app.localhost');
    const held = [dial(t, world), dial(t, world), dial(t, world)];
    await until(() => world.front.pendingCount >= 3);
    await closed(dial(t, world));
    assert.deepEqual(world.failures, ['pending_address_limit']);
    held[0]?.destroy();
    await world.failed(2);
    assert.match((await exchange(world.connect('app.localhost'), 'app.localhost')).answer, /200/);
  });

  test('become connections, which are limited per address and in total', async (t) => {
    for (const [limits, reason] of [
      [{ maxConnectionsPerAddress: 2 }, 'address_limit'],
      [{ maxConnections: 2 }, 'total_limit'],
    ] as const) {
      const world = await openTlsWorld(t, limits);
      world.setEdge('app.localhost');
      const first = world.connect('app.localhost');
      await Promise.all([once(first, 'secureConnect'), once(world.connect('app.localhost'), 'secureConnect')]);
      await closed(dial(t, world));
      assert.deepEqual(world.failures, [reason]);
      first.destroy();
      await until(() => world.front.connectionCount <= 1);
      assert.match((await exchange(world.connect('app.localhost'), 'app.localhost')).answer, /200/);
    }
  });

  test('end when the front closes, and established ones stay', async (t) => {
    const world = await openTlsWorld(t);
    world.setEdge('app.localhost');
    const established = world.connect('app.localhost');
    await until(() => world.connections.length !== 0);
    const waiting = dial(t, world);
    await until(() => world.front.pendingCount !== 0);
    world.front.close();
    await closed(waiting);
    await closed(dial(t, world));
    assert.deepEqual(world.failures, ['draining', 'draining']);
    assert.match((await exchange(established, 'app.localhost')).answer, /200/);
  });

  test('may finish while the front drains, but silent ones are closed immediately', async (t) => {
    const world = await openTlsWorld(t);
    world.setEdge('app.localhost');
    const silent = dial(t, world);
    const minting = Promise.withResolvers<void>();
    const asked = new Promise<void>((resolve) => {
      world.beforeMint = () => {
        resolve();
        return minting.promise;
      };
    });
    const client = world.connect('app.localhost');
    await asked;
    const drained = world.front.drain(5000);
    await closed(silent);
    minting.resolve();
    assert.match((await exchange(client, 'app.localhost')).answer, /200/);
    await drained;
    assert.deepEqual(world.failures, ['draining']);
  });

  test('that do not finish while the front drains are cut off', async (t) => {
    const world = await openTlsWorld(t);
    world.setEdge('app.localhost');
    const stuck = dial(t, world);
    stuck.write(await ofNode({ servername: 'app.localhost' }));
    // The server's first bytes: from here on it waits for the client.
    await once(stuck, 'data');
    await world.front.drain(50);
    await closed(stuck);
    assert.deepEqual(world.failures, ['draining']);
    await world.front.drain(50);
  });
});

suite('addresses', () => {
  for (const [address, owner] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ] as const) {
    test(`${address} counts for ${owner}`, () => assert.equal(ownerOf(address), owner));
  }

  test('are dropped with their last connection', () => {
    const counter = new AddressCounter({ maxTotal: 0, maxPerAddress: 1 });
    for (let round = 0; round < 3; round += 1) {
      assert.equal(counter.enter('192.0.2.7'), null);
      assert.equal(counter.enter('192.0.2.7'), 'address');
      assert.equal(counter.enter('2001:db8::1'), null);
      assert.equal(counter.enter('2001:db8::2'), 'address');
      counter.leave('192.0.2.7');
      counter.leave('2001:db8::2');
      assert.deepEqual([counter.total, counter.addressCount], [0, 0]);
    }
  });
});
