import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEvent, AgentOptions } from '../../src/tunnel/agent/index.ts';
import type { OtherNode } from '../../src/tunnel/protocol/messages.ts';
import { issue } from '../edge/tls/test-authority.ts';
import { agentFor, fakeGateway, localService } from './support/agent-world.ts';
import {
  type FakeConnection,
  type FakeGateway,
  type FakeGatewayOptions,
  gatewayCertificate,
} from './support/fake-gateway.ts';
import { startRelay } from './support/relay.ts';

const TUNNEL = { proto: 'https', addr: 1 } as const;

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(5);
}

/** Nodes with these names, which know the same sessions. `address` decides what each says about another. */
async function nodes<Name extends string>(
  t: TestContext,
  names: readonly Name[],
  address: (gateway: FakeGateway) => string | null = ({ addr }) => addr,
  options: (name: Name) => FakeGatewayOptions = () => ({}),
): Promise<Record<Name, FakeGateway>> {
  const sessions = new Set<string>();
  const all = {} as Record<Name, FakeGateway>;
  const othersOf = (name: Name): OtherNode[] =>
    names.filter((id) => id !== name && id in all).map((id) => ({ id, name: id, address: address(all[id]) }));
  for (const name of names) {
    const others = (): OtherNode[] => othersOf(name);
    all[name] = await fakeGateway(t, { connections: 2, node: name, sessions, others, ...options(name) });
  }
  return all;
}

function agentWithEvents(t: TestContext, gateway: FakeGateway, options: Partial<AgentOptions> = {}) {
  const events: AgentEvent[] = [];
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL], onEvent: (event) => events.push(event), ...options });
  const placed = (): string[] => agent.nodes.map(({ name }) => name).toSorted();
  return { agent, events, placed };
}

test('dials another node for its second connection, and verifies the name that it was configured with', async (t) => {
  const { one, two } = await nodes(t, ['one', 'two']);
  const { agent, events, placed } = agentWithEvents(t, one);
  await agent.ready;
  const second = await two.connection(0);
  assert.equal(second.hello.join?.session, agent.sessionId);
  await until(() => placed().length === 2);
  assert.deepEqual(placed(), ['one', 'two']);
  const told = events.flatMap((event) => (event.type === 'nodes' ? [event.nodes.map(({ name }) => name)] : []));
  assert.deepEqual(told.at(-1), ['one', 'two']);
  assert.equal(one.connections.length, 1);
});

test('falls back to the configured address when a node is unreachable or cannot be verified', async (t) => {
  const stranger = await issue({ commonName: 'gateway.test', usages: ['server'], dnsNames: ['gateway.test'] });
  const elsewhere = await issue({
    commonName: 'two',
    issuer: await issue({ commonName: 'other CA', isCa: true }),
    usages: ['server'],
    dnsNames: ['two.test', '127.0.0.1'],
  });
  for (const certificate of [stranger, elsewhere, null]) {
    const { one, two } = await nodes(
      t,
      ['one', 'two'],
      ({ addr }) => (certificate === null ? '127.0.0.1:1' : addr),
      (name) => (name === 'two' && certificate !== null ? { certificate } : {}),
    );
    const { agent } = agentWithEvents(t, one);
    await agent.ready;
    const second = await one.connection(1);
    assert.equal(second.hello.join?.session, agent.sessionId);
    assert.equal(two.connections.length, 0, 'no token was sent there');
    assert.equal(agent.status, 'online');
  }
});

test('dials no address that is not host and port', async (t) => {
  const bad = [
    '',
    ':7444',
    'two',
    'two:0',
    'two:99999',
    '0.0.0.0:7444',
    '[::]:7444',
    'http://two:7444',
    'a b:1',
    'two:7444/x',
  ];
  const lookups: string[] = [];
  const gateway = await fakeGateway(t, {
    connections: 2,
    node: 'one',
    others: () => bad.map((address, at) => ({ id: `nd_${at}`, name: 'bad', address })),
  });
  const { agent } = agentWithEvents(t, gateway, {
    lookup: (host, _options, done) => {
      lookups.push(host);
      done(new Error('unknown'), '', 4);
    },
  });
  await agent.ready;
  await gateway.connection(4);
  assert.deepEqual(lookups, []);
  assert.equal(agent.status, 'online');
});

test('behind a balancer it dials again until it is on another node, and keeps its connections meanwhile', async (t) => {
  const { one, two } = await nodes(t, ['one', 'two'], () => null);
  let dials = 0;
  const balancer = await startRelay(t, () => {
    dials += 1;
    return dials < 5 ? one.addr : two.addr;
  });
  const { agent, placed } = agentWithEvents(t, one, { serverAddr: balancer.addr });
  await agent.ready;
  await two.connection(0);
  await until(() => placed().length === 2);
  assert.equal(one.connections.length, 4);
  assert.ok(one.open.length > 0);
  await until(() => one.open.length === 1 && two.open.length === 1);
});

test('gives up on a balancer that always chooses the same node, until the nodes change', async (t) => {
  const { one, two } = await nodes(t, ['one', 'two'], () => null);
  const { agent } = agentWithEvents(t, one, { timings: { moveDelayMs: 0, backoffBaseMs: 20 } });
  await agent.ready;
  await until(() => one.connections.length === 10 && one.open.length === 2);
  await sleep(100);
  assert.equal(one.connections.length, 10, 'two, and eight trials');
  assert.equal(two.connections.length, 0);
  one.open[0]?.send({ t: 'nodes', nodes: [{ id: 'three', name: 'three', address: two.addr }] });
  await two.connection(0);
});

test('a server that names new nodes all the time does not make it dial all the time', async (t) => {
  const { one } = await nodes(t, ['one', 'two'], () => null);
  const { agent } = agentWithEvents(t, one, { timings: { moveDelayMs: 0, backoffBaseMs: 20 } });
  await agent.ready;
  let named = 0;
  const timer = setInterval(() => {
    named += 1;
    one.open[0]?.send({ t: 'nodes', nodes: [{ id: `nd_${named}`, name: 'new', address: null }] });
  }, 5);
  t.after(() => clearInterval(timer));
  await until(() => one.connections.length === 22 && one.open.length === 2);
  const before = named;
  await until(() => named > before + 20);
  assert.equal(one.connections.length, 22, 'two, and twenty trials');
});

/** A request that ends when it is released. */
async function slowService(t: TestContext) {
  const release = Promise.withResolvers<void>();
  let arrived = 0;
  const { port } = await localService(t, (_request, response) => {
    arrived += 1;
    response.write('begun ');
    void release.promise.then(() => response.end('and done'));
  });
  return { addr: `127.0.0.1:${port}`, release: () => release.resolve(), arrivals: () => arrived };
}

test('moves one connection to a node that comes later, and loses no request', async (t) => {
  const { addr, release, arrivals } = await slowService(t);
  const one = await fakeGateway(t, { connections: 2, node: 'one', others: () => [] });
  const two = await fakeGateway(t, { node: 'two', sessions: one.sessions });
  const { agent, placed } = agentWithEvents(t, one, { tunnels: [{ proto: 'https', addr }] });
  await agent.ready;
  const both: FakeConnection[] = [await one.connection(0), await one.connection(1)];
  const tunnel = agent.tunnels[0]?.id ?? '';
  const answers = both.map((connection) => connection.request(tunnel));
  await until(() => arrivals() === 2);
  const retired = Promise.race(both.map(({ session }) => once(session, 'goaway')));
  both[0]?.send({ t: 'nodes', nodes: [{ id: 'two', name: 'two', address: two.addr }] });
  await two.connection(0);
  await retired;
  assert.equal(one.open.length, 2, 'the old connection stays for its requests');
  release();
  for (const answer of await Promise.all(answers)) assert.equal(answer.body, 'begun and done');
  await until(() => one.open.length === 1);
  assert.deepEqual(placed(), ['one', 'two']);
});

test('fills the slot elsewhere when a node is lost or drains', async (t) => {
  for (const how of ['lost', 'drain'] as const) {
    const { one, two, three } = await nodes(t, ['one', 'two', 'three']);
    const { agent, events, placed } = agentWithEvents(t, one);
    await agent.ready;
    await until(() => placed().length === 2);
    const spare = two.open.length === 0 ? two : three;
    const [kept] = [two, three].filter((each) => each !== spare);
    const [first] = one.open;
    if (how === 'lost') {
      one.isRefusing = true;
      first?.cut();
    } else first?.send({ t: 'drain' });
    const next = await spare.connection(0);
    assert.equal(next.hello.join?.session, agent.sessionId);
    await until(() => placed().join() === ['three', 'two'].join());
    assert.equal(kept?.connections.length, 1);
    assert.deepEqual(
      events.flatMap((event) => (event.type === 'status' ? [event.status] : [])),
      ['connecting', 'online'],
    );
    await agent.close();
  }
});

test('reaches the only node that is left at its own address when the configured one is gone', async (t) => {
  const { one, two } = await nodes(t, ['one', 'two']);
  const { agent, placed } = agentWithEvents(t, one);
  await agent.ready;
  await until(() => placed().length === 2);
  one.isRefusing = true;
  one.open[0]?.cut();
  await two.connection(1);
  await until(() => two.open.length === 2);
  assert.equal(agent.status, 'online');
  // And when nothing is left: the list is still known.
  for (const connection of two.open) connection.cut();
  const again = await two.connection(2);
  assert.ok(again.hello.resume !== undefined || again.hello.join !== undefined);
  await until(() => agent.status === 'online');
});

test('does not stop when another node does not know its token yet', async (t) => {
  const message = 'this server does not know the agent token';
  const { one, two } = await nodes(t, ['one', 'two'], undefined, (name) => ({
    onHello: (connection) => {
      if (name === 'one' || two.connections.length > 1) return false;
      connection.send({ t: 'refused', code: 'ERR_POSTERN_AGENT_TOKEN', message, retry: false });
      return true;
    },
  }));
  const { agent } = agentWithEvents(t, one);
  await agent.ready;
  await one.connection(1);
  assert.equal(agent.status, 'online');
  assert.equal(two.connections.length, 1);
});

test('keeps its connections at an older server, which names no node', async (t) => {
  const gateway = await fakeGateway(t, { connections: 2, certificate: await gatewayCertificate() });
  const { agent, events } = agentWithEvents(t, gateway);
  await agent.ready;
  await gateway.connection(1);
  assert.deepEqual(agent.nodes, []);
  assert.ok(events.every(({ type }) => type !== 'nodes'));
});
