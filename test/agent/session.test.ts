import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEvent } from '../../src/tunnel/agent/index.ts';
import { isLong } from '../support/share-of-cases.ts';
import { agentFor, fakeGateway, httpWorld, localService, QUICK } from './support/agent-world.ts';
import { answerOf } from './support/fake-gateway.ts';
import { startRelay } from './support/relay.ts';

const ROUNDS = isLong ? 100 : 20;
const TUNNEL = { proto: 'https', addr: 1 } as const;

/** A request that its local service answers with `done` when it is released. */
async function requestUnderWay(t: TestContext) {
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const world = await httpWorld(t, (_request, response) => {
    arrived.resolve();
    void release.promise.then(() => response.end('done'));
  });
  const answer = world.connection.request(world.tunnel);
  await arrived.promise;
  return { ...world, release: () => release.resolve(), answer };
}

test('opens as many connections as the server says, and replaces each one', async (t) => {
  const gateway = await fakeGateway(t, { connections: 2 });
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  await agent.ready;
  const first = await gateway.connection(0);
  const second = await gateway.connection(1);
  assert.equal(first.hello.join, undefined);
  assert.deepEqual(second.hello.join, { session: 'ts_1', secret: 'secret-1' });
  first.cut();
  const third = await gateway.connection(2);
  assert.deepEqual(third.hello.join, { session: 'ts_1', secret: 'secret-1' });
  assert.equal(agent.status, 'online');
  assert.equal(agent.tunnels[0]?.status, 'online');
});

test('resumes the session with its tunnels after all connections were lost', async (t) => {
  const events: AgentEvent[] = [];
  const gateway = await fakeGateway(t, { connections: 2 });
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL], onEvent: (event) => events.push(event) });
  await agent.ready;
  const { id, publicUrl: url } = agent.tunnels[0] ?? {};
  const [one, two] = [await gateway.connection(0), await gateway.connection(1)];
  const reconnecting = once(agent, 'status');
  one.cut();
  two.cut();
  const [event] = await reconnecting;
  assert.equal(event.status, 'reconnecting');
  assert.equal(typeof event.nextTryMs, 'number');
  await once(agent, 'bound');
  const again = await gateway.connection(2);
  assert.equal(again.hello.resume?.session, 'ts_1');
  const bind = await again.message('bind');
  assert.equal(bind.id, id);
  assert.deepEqual([agent.tunnels[0]?.id, agent.publicUrl, agent.status], [id, url, 'online']);
  const joined = await gateway.connection(3);
  assert.equal(joined.hello.join?.session, 'ts_1');
  assert.notEqual(joined.hello.join?.secret, 'secret-1', 'a resume brings a new secret');
});

test('requests the same names and ports from a server that has forgotten everything', async (t) => {
  const gateway = await fakeGateway(t);
  const agent = agentFor(t, gateway, {
    tunnels: [TUNNEL, { ...TUNNEL, domain: 'mine.gateway.test' }, { proto: 'tcp', addr: 1 }],
  });
  await agent.ready;
  gateway.sessions.clear();
  (await gateway.connection(0)).cut();
  const again = await gateway.connection(1);
  assert.equal(again.hello.resume?.session, 'ts_1');
  const binds = [await again.message('bind'), await again.message('bind', 1), await again.message('bind', 2)];
  assert.deepEqual(
    binds.map(({ id, domain, port }) => ({ id, domain, port })),
    [
      { id: undefined, domain: 'given-0.gateway.test', port: undefined },
      { id: undefined, domain: 'mine.gateway.test', port: undefined },
      { id: undefined, domain: undefined, port: 20_002 },
    ],
  );
});

test('gives up a generated name that was taken since, but not a requested one', async (t) => {
  const taken = { code: 'ERR_POSTERN_TUNNEL_NAME_TAKEN', message: 'taken', retry: false };
  const gateway = await fakeGateway(t, {
    onBind: (connection, bind) => {
      if (gateway.connections.length === 1 || bind.domain === undefined) return false;
      connection.send({ t: 'unbound', ref: bind.ref, ...taken });
      return true;
    },
  });
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL, { ...TUNNEL, domain: 'mine.gateway.test' }] });
  await agent.ready;
  gateway.sessions.clear();
  const unbound = once(agent, 'unbound');
  (await gateway.connection(0)).cut();
  const [event] = await unbound;
  assert.equal(event.tunnel, agent.tunnels[1]);
  const bind = await (await gateway.connection(1)).message('bind', 2);
  assert.deepEqual([bind.ref, bind.domain], [0, undefined]);
  if (agent.tunnels[0]?.status !== 'online') await once(agent, 'bound');
  assert.deepEqual(
    agent.tunnels.map(({ status }) => status),
    ['online', 'refused'],
  );
});

test('opens another connection before a drain, and loses no request', async (t) => {
  for (const how of ['message', 'goaway'] as const) {
    const release = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const { connection, gateway, tunnel, agent } = await httpWorld(t, (_request, response) => {
      response.write('begun ');
      arrived.resolve();
      void release.promise.then(() => response.end('and done'));
    });
    const statuses: string[] = [];
    agent.on('status', ({ status }) => statuses.push(status));
    const answer = answerOf(connection.open(tunnel));
    await arrived.promise;
    if (how === 'message') connection.send({ t: 'drain' });
    else connection.session.goaway(0);
    const next = await gateway.connection(1);
    assert.equal(next.hello.join?.session, 'ts_1', 'a resume would cut requests in progress');
    const other = next.request(tunnel);
    release.resolve();
    assert.equal((await answer).body, 'begun and done');
    assert.equal((await other).body, 'begun and done');
    if (connection.isOpen) await new Promise((resolve) => connection.session.once('close', resolve));
    assert.deepEqual(statuses, []);
    assert.ok(next.isOpen);
  }
});

/** Drains each connection as soon as it is there. Returns when the last successor came, relative to its predecessor. */
async function drainedAgain(t: TestContext, times: number, stableBeforeDrainMs: number): Promise<number> {
  t.mock.method(Math, 'random', () => 0.999);
  const gateway = await fakeGateway(t);
  const timings = { ...QUICK, backoffBaseMs: 50, backoffMaxMs: 3_600_000, stableAfterMs: 3_600_000 };
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL], timings: { ...timings, stableBeforeDrainMs } });
  await agent.ready;
  let drainedAt = 0;
  for (let at = 0; at < times; at += 1) {
    const connection = await gateway.connection(at);
    drainedAt = performance.now();
    connection.send({ t: 'drain' });
  }
  await gateway.connection(times);
  assert.equal(agent.status, 'online');
  return performance.now() - drainedAt;
}

// As failures, the last of them would let the agent wait for 7 hours.
test('returns quickly after every restart of the server, no matter how many there are', {
  timeout: 60_000,
}, async (t) => {
  await drainedAgain(t, 20, 0);
});

test('returns to a server that drains at once more and more slowly', async (t) => {
  // 10, 50, 100, 200, 400 ms.
  assert.ok((await drainedAgain(t, 5, 3_600_000)) > 350);
});

test('starts another session when the draining server does not know the session', async (t) => {
  const { connection, gateway, agent, release, answer } = await requestUnderWay(t);
  gateway.sessions.clear();
  const bound = once(agent, 'bound');
  connection.send({ t: 'drain' });
  await bound;
  const next = gateway.connections.at(-1);
  assert.equal(next?.hello.join, undefined);
  assert.equal((await next?.message('bind'))?.domain, 'given-0.gateway.test');
  release();
  assert.equal((await answer).body, 'done');
});

test('detects a silently dead connection', async (t) => {
  const gateway = await fakeGateway(t);
  const liveness = { checkMs: 20, pingAfterMs: 100, deadAfterMs: 300 };
  const relay = await startRelay(t, gateway.addr);
  const agent = agentFor(t, gateway, { serverAddr: relay.addr, tunnels: [TUNNEL], timings: { ...QUICK, liveness } });
  await agent.ready;
  const lost = once(agent, 'status');
  relay.freeze();
  const [event] = await lost;
  assert.deepEqual([event.status, event.reason], ['reconnecting', 'the server no longer responds']);
  await once(agent, 'bound');
  assert.equal((await gateway.connection(1)).hello.resume?.session, 'ts_1');
});

test('keeps an idle connection', async (t) => {
  const gateway = await fakeGateway(t);
  const liveness = { checkMs: 10, pingAfterMs: 50, deadAfterMs: 1_000 };
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL], timings: { ...QUICK, liveness } });
  await agent.ready;
  const connection = await gateway.connection(0);
  let pings = 0;
  connection.session.on('ping', () => {
    pings += 1;
  });
  while (pings < 5) await once(connection.session, 'ping');
  assert.equal(gateway.connections.length, 1);
  assert.ok((agent.roundTripMs ?? -1) >= 0);
});

test('starts over after a long time offline even if an attempt is still waiting', async (t) => {
  const gateway = await fakeGateway(t);
  gateway.isRefusing = true;
  const timings = { ...QUICK, backoffBaseMs: 3_600_000, backoffMaxMs: 3_600_000, watchdogMs: 200 };
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL], timings });
  // The first attempt fails; the next would come in about an hour.
  await once(agent, 'status');
  gateway.isRefusing = false;
  await agent.ready;
  assert.equal(agent.status, 'online');
});

test('waits for a server that is not up yet', async (t) => {
  const gateway = await fakeGateway(t);
  gateway.isRefusing = true;
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  for (let tries = 0; tries < 3; tries += 1) {
    const [event] = await once(agent, 'status');
    assert.equal(event.status, 'connecting');
    assert.ok(event.nextTryMs <= QUICK.backoffMaxMs);
  }
  gateway.isRefusing = false;
  await agent.ready;
});

test('close unbinds the tunnels, waits for requests in progress, and leaves cleanly', async (t) => {
  const { connection, gateway, agent, release, answer } = await requestUnderWay(t);
  const closed = agent.close();
  assert.equal((await connection.message('unbind')).ref, 0);
  assert.equal(
    connection.received.some(({ t: type }) => type === 'bye'),
    false,
  );
  release();
  assert.equal((await answer).body, 'done');
  await connection.message('bye');
  await closed;
  assert.deepEqual([agent.status, agent.tunnels[0]?.status], ['stopped', 'stopped']);
  assert.equal(gateway.connections.length, 1);
});

test('close does not wait indefinitely', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const { connection, tunnel, agent } = await httpWorld(t, () => arrived.resolve(), {
    timings: { ...QUICK, closeTimeoutMs: 200 },
  });
  connection.open(tunnel);
  await arrived.promise;
  await agent.close();
  assert.equal(agent.status, 'stopped');
});

test('can be closed while it is still connecting', async (t) => {
  const gateway = await fakeGateway(t);
  gateway.isRefusing = true;
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  await agent.close();
  await assert.rejects(agent.ready, { code: 'ERR_POSTERN_AGENT_CLOSED' });
  const { accepted } = gateway;
  await sleep(150);
  assert.equal(gateway.accepted, accepted, 'it went on trying');
});

test(`${ROUNDS * 100} cancelled requests do not cost the connection`, async (t) => {
  const gateway = await fakeGateway(t);
  const { port } = await localService(t, (request, response) => {
    if (request.url === '/last') response.end('still here');
  });
  const agent = agentFor(t, gateway, { tunnels: [{ proto: 'https', addr: `127.0.0.1:${port}` }] });
  await agent.ready;
  const connection = await gateway.connection(0);
  const tunnel = agent.tunnels[0]?.id ?? '';
  for (let round = 0; round < ROUNDS; round += 1) {
    const closed: Promise<unknown>[] = [];
    for (let n = 0; n < 100; n += 1) {
      const stream = connection.open(tunnel);
      closed.push(new Promise((resolve) => stream.once('close', resolve)));
      stream.resume();
      setImmediate(() => stream.close(8));
    }
    await Promise.all(closed);
  }
  assert.equal((await connection.request(tunnel, { ':path': '/last' })).body, 'still here');
  assert.equal(gateway.connections.length, 1);
  while (agent.active > 0) await sleep(10);
});
