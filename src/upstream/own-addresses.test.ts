import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { OwnAddresses } from './own-addresses.ts';

const LOOPBACK = ['127.0.0.1', '::ffff:127.0.0.1', '0.0.0.0', '::'];

test('finds a listener under every spelling of its address', () => {
  const own = new OwnAddresses();
  own.addControl({ host: '127.0.0.1', port: 7080 });
  own.addControl({ host: 'localhost', port: 7444 });
  for (const ip of LOOPBACK) {
    assert.equal(own.has(ip, 7080), true, ip);
    assert.equal(own.has(ip, 7444), true, ip);
    assert.equal(own.has(ip, 7081), false, ip);
  }
  assert.equal(own.has('127.0.0.2', 7080), false);
  assert.equal(own.has('10.0.0.1', 7080), false);
});

test('ports held by tunnels are ours while they are held, on every address of the machine', () => {
  const held = new Set([20_001]);
  const own = new OwnAddresses();
  own.setTunnelPorts({ host: '0.0.0.0', has: (port) => held.has(port), list: () => [] });
  const interfaces = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  for (const ip of [...LOOPBACK, '::1', '127.9.9.9', ...interfaces.map(({ address }) => address)]) {
    assert.equal(own.has(ip, 20_001), true, ip);
    assert.equal(own.hasBesidesEdge(ip, 20_001), true, ip);
    assert.equal(own.has(ip, 20_002), false, ip);
  }
  assert.equal(own.has('203.0.113.1', 20_001), false);
  held.clear();
  assert.equal(own.has('127.0.0.1', 20_001), false);
});

test('the edge is ours for upstreams, but a valid receiver of events', () => {
  const own = new OwnAddresses();
  own.addEdge({ host: '127.0.0.1', port: 7443 });
  assert.equal(own.has('127.0.0.1', 7443), true);
  assert.equal(own.hasBesidesEdge('127.0.0.1', 7443), false);
});

test('the API is ours for everybody, except for upstreams of a server whose console is behind the edge', () => {
  const own = new OwnAddresses();
  own.addApi({ host: '127.0.0.1', port: 7080 });
  own.addControl({ host: '127.0.0.1', port: 7444 });
  own.addEdge({ host: '127.0.0.1', port: 7443 });
  assert.deepEqual([own.has('127.0.0.1', 7080), own.hasBesidesEdge('127.0.0.1', 7080)], [true, true]);
  const besides = [7080, 7444, 7443].map((port) => own.hasBesidesApi('127.0.0.1', port));
  assert.deepEqual(besides, [false, true, true]);
  const other = new OwnAddresses();
  other.become(own.list());
  assert.deepEqual([other.has('127.0.0.1', 7080), other.hasBesidesApi('127.0.0.1', 7080)], [true, false]);
});

test('the API answers at every address of the machine if it listens on all of them', () => {
  const [everywhere, here] = [new OwnAddresses(), new OwnAddresses()];
  everywhere.addApi({ host: '0.0.0.0', port: 7080 });
  here.addApi({ host: '127.0.0.1', port: 7080 });
  const outer = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal }) => !internal);
  for (const { address } of outer) {
    assert.deepEqual([everywhere.isApi(address, 7080), here.isApi(address, 7080)], [true, false], address);
  }
  for (const ip of LOOPBACK) {
    assert.deepEqual([everywhere.isApi(ip, 7080), here.isApi(ip, 7080)], [true, true], ip);
    assert.equal(everywhere.isApi(ip, 7081), false, ip);
  }
  assert.equal(everywhere.isApi('203.0.113.1', 7080), false);
});
