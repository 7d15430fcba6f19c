import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cidrMatcher, cidrProblem, isCidr, parseAddress, parseWrittenAddress, publicAddressGuard } from './cidr.ts';

/** Some parsers, including ipaddr.js, read each of these as 10.1.1.1. Others read another address, or none. */
const LAX = [
  '167837953',
  '0xa.1.1.1',
  '10.1.257',
  '012.1.1.1',
  '10.1.1.01',
  '0x0a010101',
  '::10.1.1.1',
  '::ffff:0xa.1.1.1',
  '::ffff:012.1.1.1',
];
const NO_ADDRESS = [
  '',
  'unknown',
  '[::1]',
  '10.1.1.1:80',
  ' 10.1.1.1',
  '10.1.1.1%eth0',
  '10.1.1.256',
  '1::2::3',
  ':::',
];

suite('addresses', () => {
  test('accepts only canonical forms', () => {
    for (const text of [...LAX, ...NO_ADDRESS]) {
      assert.equal(parseAddress(text), null, text);
      assert.equal(parseWrittenAddress(text), null, text);
    }
    assert.equal(parseWrittenAddress('2001:DB8:0::1')?.toString(), '2001:db8::1');
  });

  test('reads IPv4 inside IPv6 as the IPv4 address', () => {
    for (const text of ['::ffff:10.1.1.1', '::FFFF:10.1.1.1', '::ffff:a01:101', '0:0:0:0:0:ffff:a01:101']) {
      assert.equal(parseAddress(text)?.toString(), '10.1.1.1', text);
      assert.equal(parseWrittenAddress(text)?.toString(), '10.1.1.1', text);
    }
  });

  test('accepts a zone from sockets, not from text', () => {
    const address = parseAddress('fe80::1%eth0');
    assert.ok(address !== null && cidrMatcher('fe80::/10')(address));
    assert.equal(parseWrittenAddress('fe80::1%eth0'), null);
  });
});

suite('ranges', () => {
  test('accepts only canonical forms as ranges', () => {
    for (const text of [...LAX, ...NO_ADDRESS, 'fe80::1%eth0']) {
      assert.equal(isCidr(`${text}/32`), false, text);
      assert.notEqual(cidrProblem(`${text}/32`), null, text);
    }
    for (const text of [
      '10.0.0.0/08',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0',
      '10.0.0.0/',
      '/8',
      '10.0.0.0/8 ',
      '10.0.0.0/+8',
    ]) {
      assert.equal(isCidr(text), false, text);
      assert.notEqual(cidrProblem(text), null, text);
    }
    for (const text of ['10.0.0.0/8', '2001:db8::/32', '::ffff:10.0.0.0/104', '0.0.0.0/0', '::/0']) {
      assert.equal(isCidr(text), true, text);
      assert.equal(cidrProblem(text), null, text);
    }
  });

  test('rejects bits beyond the prefix in rules, not in settings', () => {
    assert.equal(isCidr('10.1.1.1/8'), true);
    assert.match(cidrProblem('10.1.1.1/8') ?? '', /"10\.0\.0\.0\/8"/);
  });
});

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
