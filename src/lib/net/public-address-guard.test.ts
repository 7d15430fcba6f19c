import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publicAddressGuard } from './public-address-guard.ts';

const REFUSED = [
  ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
  ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
  ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1'],
  ['link-local and metadata', '169.254.169.254', '169.254.0.1', 'fe80::1', 'fd00:ec2::254', '168.63.129.16'],
  ['shared by carriers', '100.64.0.1', '100.100.100.200'],
  [
    'IPv4 in IPv6',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::7f00:1',
    '64:ff9b:1::a00:1',
    '::127.0.0.1',
    '::a00:1',
    '2002:7f00:1::',
  ],
  ['zoned and site-local', 'fe80::1%eth0', 'fe80::1%1', 'fec0::1'],
  ['multicast, broadcast, reserved', '224.0.0.1', '255.255.255.255', '240.0.0.1', 'ff02::1', '192.0.2.1'],
  ['tunnels', '2001:0:7f00:1::', '2001:db8::1'],
  ['nonsense', '', 'localhost'],
] as const;

for (const [name, ...addresses] of REFUSED) {
  test(`rejects as not public: ${name}`, () => {
    const isAllowed = publicAddressGuard([]);
    for (const address of addresses) assert.equal(isAllowed(address), false, address);
  });
}

test('allows public addresses', () => {
  const isAllowed = publicAddressGuard([]);
  for (const address of ['1.1.1.1', '93.184.216.34', '2606:4700::1111', '::ffff:1.1.1.1']) {
    assert.equal(isAllowed(address), true, address);
  }
});

test('allows configured ranges and nothing beyond them', () => {
  const isAllowed = publicAddressGuard(['10.1.0.0/16', '::1/128', '169.254.169.254/32']);
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '::1', '169.254.169.254'])
    assert.equal(isAllowed(address), true, address);
  for (const address of ['10.2.0.1', '127.0.0.1', '169.254.169.253']) assert.equal(isAllowed(address), false, address);
});
