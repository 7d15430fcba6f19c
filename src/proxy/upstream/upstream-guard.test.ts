import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { OwnAddresses, upstreamGuard } from './upstream-guard.ts';

const own = new OwnAddresses();
own.addEdge({ host: '0.0.0.0', port: 443 });

test('does not dial metadata services, unspecified addresses or Postern itself, but dials private networks', () => {
  const isAllowed = upstreamGuard([], own);
  const refused = ['169.254.169.254', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', 'fe80::1', 'fd00:ec2::254'];
  const carried = [
    '2002:a9fe:a9fe::1',
    '::ffff:0:a9fe:a9fe',
    '::a9fe:a9fe',
    '::169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
  ];
  for (const ip of [...refused, ...carried, '100.100.100.200', '168.63.129.16', '0.0.0.0', '::', 'no address']) {
    assert.equal(isAllowed(ip, 80), false, ip);
  }
  for (const ip of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    assert.equal(isAllowed(ip, 443), false, ip);
    assert.equal(isAllowed(ip, 8080), true, ip);
  }
  for (const ip of ['10.0.0.1', '192.168.1.1', '100.100.100.201', 'fd00::1', '203.0.113.1']) {
    assert.equal(isAllowed(ip, 443), true, ip);
  }
});

test('does not dial metadata services of any cloud, in any form that leads to them', () => {
  const isAllowed = upstreamGuard([], own);
  const refused = ['fd20:ce::254', '192.0.0.192', 'fd00:ec2::23', 'fd00:c1::a9fe:a9fe', 'fd00:42::42'];
  for (const inner of ['169.254.169.254', '100.100.100.200', '168.63.129.16', '192.0.0.192']) {
    const [a = 0, b = 0, c = 0, d = 0] = inner.split('.').map(Number);
    const pair = (one: number, other: number): string => ((one << 8) | other).toString(16);
    // RFC 6052 §2.2: the prefix has 96, 64, 56 or 48 bits, and bits 64 to 71 are zero.
    const last = `${pair(a, b)}:${pair(c, d)}`;
    refused.push(`64:ff9b::${last}`, `64:ff9b:1::${last}`, `64:ff9b:1:ffff:0:0:${last}`);
    refused.push(`64:ff9b:1:0:${pair(0, a)}:${pair(b, c)}:${pair(d, 0)}:0`);
    refused.push(`64:ff9b:1:${pair(0, a)}:${pair(0, b)}:${pair(c, d)}::`);
    refused.push(`64:ff9b:1:${pair(a, b)}:${pair(0, c)}:${pair(d, 0)}::`);
    refused.push(`2002:${pair(a, b)}:${pair(c, d)}::1`, `::ffff:${inner}`, `::ffff:0:${last}`, `::${last}`);
  }
  for (const ip of refused) assert.equal(isAllowed(ip, 80), false, ip);
  for (const ip of ['64:ff9b::cb00:7101', '64:ff9b:1::a00:1', '64:ff9b:1:a00:0:100::', 'fd20:ce::253']) {
    assert.equal(isAllowed(ip, 80), true, ip);
  }
});

test('dials what settings allow, except Postern itself', () => {
  const isAllowed = upstreamGuard(['169.254.0.0/16', '127.0.0.0/8'], own);
  assert.equal(isAllowed('169.254.169.254', 80), true);
  assert.equal(isAllowed('127.0.0.1', 443), false);
});

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
