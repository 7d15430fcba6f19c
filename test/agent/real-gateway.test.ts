import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer } from 'node:tls';
import { systemClock } from '../../src/kit/clock.ts';
import { type AgentOptions, startAgent } from '../../src/tunnel/agent/index.ts';
import { Gateway } from '../../src/tunnel/gateway/gateway.ts';
import { OnlineTunnelTable } from '../../src/tunnel/gateway/online-tunnel-table.ts';
import { ALPN } from '../../src/tunnel/protocol/protocol.ts';
import { localService, QUICK } from './support/agent-world.ts';
import { answerOf, gatewayCertificate, testAuthority } from './support/fake-gateway.ts';

/** The server's real end of the protocol, without the rest of the server. */
async function realGateway(t: TestContext) {
  const { certificatePem: cert, keyPem: key } = await gatewayCertificate();
  const table = new OnlineTunnelTable();
  const nothing = async (): Promise<void> => {};
  let lastId = 0;
  const make = (): Gateway =>
    new Gateway({
      clock: systemClock,
      presence: {
        put: nothing,
        renew: nothing,
        remove: nothing,
        removeByCredential: async () => [],
        removeOtherBoots: nothing,
        onReset: () => () => {},
        get: async () => null,
        list: async () => [],
      },
      bootId: 'nd_1',
      region: 'test',
      domain: 'gateway.test',
      credentials: {
        isCurrent: () => true,
        find: (token) => (token === 'good' ? { id: 'cr_1', acl: [] } : null),
        get: () => ({ acl: [] }),
        refresh: () => Promise.resolve(),
        onChange: () => () => {},
      },
      invitations: { redeem: () => Promise.resolve(null) },
      table,
      endpoints: {
        isCoveredByEdge: () => false,
        publish: async ({ proto, host }) => ({ ok: true, publicUrl: `${proto}://${host}`, hostport: `${host}:443` }),
        withdraw: () => {},
      },
      log: {
        info: () => {},
        warn: () => {},
        error: (fields, message) => assert.fail(message + JSON.stringify(fields)),
      },
      newId: (prefix) => {
        lastId += 1;
        return `${prefix}_${lastId}`;
      },
      events: {
        sessionStarted: () => {},
        sessionStopped: () => {},
        tunnelStarted: () => {},
        tunnelStopped: () => {},
        sessionTaken: () => {},
        sessionGiven: () => {},
      },
    });
  const state = { gateway: make() };
  const sockets = new Set<Socket>();
  const server = createServer({ cert, key, ALPNProtocols: [ALPN] }, (socket) => {
    sockets.add(socket.on('error', () => {}).once('close', () => sockets.delete(socket)));
    state.gateway.accept(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    await state.gateway.drain(0);
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const start = async (options: Partial<AgentOptions>) => {
    const agent = startAgent({
      serverAddr: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      servername: 'gateway.test',
      ca: (await testAuthority()).certificatePem,
      authtoken: 'good',
      tunnels: [],
      timings: QUICK,
      ...options,
    });
    t.after(() => agent.close());
    return agent;
  };
  const request = async (tunnelId: string, path = '/') => {
    const link = table.get(tunnelId)?.link();
    assert.ok(link !== null && link !== undefined, 'nothing leads to the tunnel');
    const pseudo = [':method', 'GET', ':scheme', 'https', ':authority', 'app.test', ':path', path];
    const stream = link.request([...pseudo, 'postern-tunnel', tunnelId], { endStream: true, waitForTrailers: false });
    stream.on('error', () => {}).once('close', () => link.release(stream));
    return answerOf(stream);
  };
  const replace = async (): Promise<void> => {
    const old = state.gateway;
    state.gateway = make();
    await old.drain(5_000);
  };
  return { state, table, sockets, start, request, replace };
}

test('agent and gateway agree: a request, a lost session that is resumed, a clean end', async (t) => {
  const { state, table, sockets, start, request } = await realGateway(t);
  const { port } = await localService(t, (request_, response) => response.end(request_.url));
  const agent = await start({ tunnels: [{ proto: 'https', addr: `127.0.0.1:${port}` }] });
  await agent.ready;
  const tunnel = agent.tunnels[0]?.id ?? '';
  const { publicUrl: url } = agent;
  assert.equal((await request(tunnel, '/one')).body, '/one');
  const bound = once(agent, 'bound');
  for (const socket of sockets) socket.destroy();
  await bound;
  assert.deepEqual([agent.tunnels[0]?.id, agent.publicUrl], [tunnel, url]);
  assert.equal((await request(tunnel, '/two')).body, '/two');
  await agent.close();
  assert.equal(table.size, 0);
  assert.equal(state.gateway.counts.sessions, 0);
});

test('before a drain cuts requests, what is left can be closed cleanly', async (t) => {
  for (const isBusy of [false, true]) {
    const { state, start, request } = await realGateway(t);
    const arrived = Promise.withResolvers<void>();
    const { port } = await localService(t, () => arrived.resolve());
    const agent = await start({ tunnels: [{ proto: 'https', addr: `127.0.0.1:${port}` }] });
    await agent.ready;
    const asked = isBusy ? request(agent.tunnels[0]?.id ?? '') : null;
    asked?.catch(() => {});
    if (isBusy) await arrived.promise;
    let closings = 0;
    await state.gateway.drain(50, async () => {
      closings += 1;
      assert.ok(state.gateway.counts.sessions > 0, 'the agent is still connected');
    });
    assert.equal(closings, isBusy ? 1 : 0);
  }
});

test('replacing the gateway loses no request, and the tunnel keeps its name', async (t) => {
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const { start, request, replace } = await realGateway(t);
  const { port } = await localService(t, (request_, response) => {
    if (request_.url === '/quick') response.end('quick');
    else {
      arrived.resolve();
      void release.promise.then(() => response.end('slow'));
    }
  });
  const agent = await start({ tunnels: [{ proto: 'https', addr: `127.0.0.1:${port}` }] });
  await agent.ready;
  const { publicUrl: url } = agent;
  const slow = request(agent.tunnels[0]?.id ?? '', '/slow');
  await arrived.promise;
  const bound = once(agent, 'bound');
  const replaced = replace();
  await bound;
  assert.equal(agent.publicUrl, url);
  assert.equal((await request(agent.tunnels[0]?.id ?? '', '/quick')).body, 'quick');
  release.resolve();
  assert.equal((await slow).body, 'slow');
  await replaced;
  assert.equal(agent.status, 'online');
  assert.equal((await request(agent.tunnels[0]?.id ?? '', '/quick')).body, 'quick');
});

test('the gateway rejects a wrong token, which ends the agent', async (t) => {
  const { start } = await realGateway(t);
  const agent = await start({ authtoken: 'bad', tunnels: [{ proto: 'https', addr: 1 }] });
  await assert.rejects(agent.ready, { code: 'ERR_POSTERN_AGENT_TOKEN' });
});

async function until(isTrue: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  while (!isTrue()) {
    assert.ok(performance.now() < deadlineMs, 'it did not happen');
    await sleep(10);
  }
}

test('tunnels are opened, moved and closed while the agent runs', async (t) => {
  const { table, start, request } = await realGateway(t);
  const one = await localService(t, (_request, response) => response.end('one'));
  const two = await localService(t, (_request, response) => response.end('two'));
  const agent = await start({ isOpenEnded: true });
  await agent.ready;
  const opened = agent.openTunnel({ proto: 'https', addr: [`127.0.0.1:${one.port}`], domain: 'a.test' });
  await until(() => opened.status === 'online');
  const id = opened.id ?? '';
  assert.equal((await request(id)).body, 'one');
  agent.moveTunnel(opened.ref, [`127.0.0.1:${two.port}`]);
  await until(() => opened.status === 'online');
  assert.equal((await request(id)).body, 'two');
  assert.equal(opened.id, id);
  await until(() => table.get(id)?.forwardsTo === `http://127.0.0.1:${two.port}`);
  agent.closeTunnel(opened.ref);
  agent.closeTunnel(99);
  await until(() => table.size === 0);
  const again = agent.openTunnel({ proto: 'https', addr: one.port, domain: 'a.test' });
  await until(() => again.status === 'online');
  assert.notEqual(again.ref, opened.ref);
  assert.equal(agent.status, 'online');
});

test('a tunnel that was closed during an interruption gives its name back after the resume', async (t) => {
  const { state, table, sockets, start } = await realGateway(t);
  const { port } = await localService(t, (_request, response) => response.end());
  const spec = { proto: 'https', addr: port, domain: 'a.test' } as const;
  const agent = await start({ isOpenEnded: true, tunnels: [spec, { proto: 'https', addr: port }] });
  await agent.ready;
  const lost = once(agent, 'status');
  for (const socket of sockets) socket.destroy();
  await lost;
  agent.closeTunnel(0);
  const successor = agent.openTunnel(spec);
  await until(() => successor.status !== 'binding');
  assert.deepEqual([successor.status, successor.problem], ['online', null]);
  await until(() => table.size === 2);
  assert.equal(state.gateway.counts.sessions, 1);
});

test('an open-ended agent goes on when the server refuses all of its tunnels', async (t) => {
  const { start } = await realGateway(t);
  const agent = await start({ isOpenEnded: true });
  await agent.ready;
  const refused = agent.openTunnel({ proto: 'https', addr: 80, domain: 'not a name' });
  await until(() => refused.status === 'refused');
  assert.equal(agent.status, 'online');
});

test('replicas share requests, and one that cannot be reached costs none', async (t) => {
  const { start, request } = await realGateway(t);
  const one = await localService(t, (_request, response) => response.end('one'));
  const two = await localService(t, (_request, response) => response.end('two'));
  const closed = await localService(t, () => {});
  closed.server.close();
  await once(closed.server, 'close');
  const addr = [closed, one, two].map(({ port }) => `127.0.0.1:${port}`);
  const agent = await start({ tunnels: [{ proto: 'https', addr }] });
  await agent.ready;
  const id = agent.tunnels[0]?.id ?? '';
  const counts: Record<string, number> = {};
  for (let round = 0; round < 12; round += 1) {
    const { body } = await request(id);
    counts[body] = (counts[body] ?? 0) + 1;
  }
  assert.deepEqual(Object.keys(counts).sort(), ['one', 'two']);
  assert.ok(
    Object.values(counts).every((count) => count >= 4),
    JSON.stringify(counts),
  );
  agent.moveTunnel(0, addr.slice(0, 1));
  const { headers } = await request(id);
  assert.deepEqual([headers[':status'], headers['postern-tunnel-error']], [502, 'refused']);
});
