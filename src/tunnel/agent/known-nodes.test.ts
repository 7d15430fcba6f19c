import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { GatewayAddress } from './dial-gateway.ts';
import { KnownNodes } from './known-nodes.ts';

const CONFIGURED: GatewayAddress = {
  serverAddr: 'tunnel.test:7444',
  host: 'tunnel.test',
  port: 7444,
  servername: 'tunnel.test',
  context: () => assert.fail('nothing connects'),
  lookup: () => {},
};
const SELF = { id: 'nd_1', name: 'one' };
const NONE: ReadonlySet<string> = new Set();

function world(t: TestContext, ...others: readonly string[]) {
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  const known = new KnownNodes(CONFIGURED, 10_000);
  const list = others.map((name, at) => ({ id: `nd_${at + 2}`, name, address: `${name}:7444` }));
  known.learn(SELF, list);
  const next = (occupied = new Set(['nd_1'])) => known.target(occupied);
  return { known, list, next, pass: (ms: number) => (nowMs += ms) };
}

test('dials a free node with the configured server name, and for a short time', (t) => {
  const { address, timeoutMs } = world(t, 'two.test').next();
  assert.deepEqual(
    [address.serverAddr, address.host, address.servername],
    ['two.test:7444', 'two.test', 'tunnel.test'],
  );
  assert.equal(timeoutMs, 5_000);
});

test('dials the configured address first while no connection is left, then nodes that it knows', (t) => {
  const { known } = world(t, 'two.test');
  const first = known.target(NONE);
  assert.equal(first.address, CONFIGURED);
  first.failed();
  const second = known.target(NONE);
  assert.equal(second.address.host, 'two.test');
  second.failed();
  assert.equal(known.target(NONE).address, CONFIGURED, 'its pause ends first');
});

test('leaves a node out after a failure, for longer each time, until a connection succeeds', (t) => {
  const { next, pass } = world(t, 'two.test');
  for (const pauseMs of [5_000, 10_000, 20_000]) {
    const target = next();
    assert.equal(target.address.host, 'two.test');
    target.failed();
    pass(pauseMs - 1);
    assert.equal(next().address, CONFIGURED);
    pass(1);
  }
  next().reached();
  next().failed();
  pass(5_000);
  assert.equal(next().address.host, 'two.test');
});

test('dials addresses that a server named at most thirty times a minute', (t) => {
  const { next, pass } = world(t, 'two.test');
  for (let dials = 0; dials < 30; dials += 1) assert.notEqual(next().address, CONFIGURED);
  assert.equal(next().address, CONFIGURED);
  pass(60_001);
  assert.notEqual(next().address, CONFIGURED);
});

test('reports when nodes come or go, and chooses among free ones at random', (t) => {
  const { known, list, next } = world(t, 'two.test', 'three.test');
  assert.equal(known.learn(SELF, list), false);
  assert.equal(known.hasOther(new Set(['nd_1', 'nd_2', 'nd_3'])), false);
  const seen = new Set(Array.from({ length: 25 }, () => next().address.host));
  assert.deepEqual([...seen].toSorted(), ['three.test', 'two.test']);
  assert.equal(known.learn(SELF, list.slice(1)), true);
  assert.equal(known.hasOther(new Set(['nd_1', 'nd_3'])), false);
});

test('waits for a free node that is left out, but not for a long pause', (t) => {
  const { known, next, pass } = world(t, 'two.test');
  const occupied = new Set(['nd_1']);
  assert.equal(known.pausedMs(occupied), 0);
  next().failed();
  pass(1_000);
  assert.equal(known.pausedMs(occupied), 4_000);
  pass(4_000);
  assert.equal(known.pausedMs(occupied), 0);
  next().failed();
  assert.equal(known.pausedMs(occupied), 5_000, 'the configured address may lead to it');
  assert.equal(known.pausedMs(new Set(['nd_1', 'nd_2'])), 0, 'no other node has an address');
});
