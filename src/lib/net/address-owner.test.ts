import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { ownerOf } from './address-owner.ts';

suite('the owner of an address', () => {
  test('is the whole /64, also where zeros are left out before it ends', () => {
    assert.equal(ownerOf('2400::1:a:b:c:d'), '2400:0:0:1::/64');
    assert.equal(ownerOf('2400::2:a:b:c:d'), '2400:0:0:2::/64');
    assert.equal(ownerOf('::1:2:3:4:5:6'), '0:0:1:2::/64');
    assert.equal(ownerOf('2400::'), '2400:0:0:0::/64');
    assert.equal(ownerOf('2400::1'), '2400:0:0:0::/64');
    assert.equal(ownerOf('fe80::1%eth0'), 'fe80:0:0:0::/64');
  });

  test('is an IPv4 address itself, also inside IPv6', () => {
    assert.equal(ownerOf('203.0.113.9'), '203.0.113.9');
    assert.equal(ownerOf('::ffff:203.0.113.9'), '203.0.113.9');
  });

  test('is shared by the addresses of one /64 and by no others', () => {
    const group = fc.constantFrom(0, 0, 0, 1, 2, 0xffff);
    const groups = fc.array(group, { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, groups, (one, other) => {
        const owners = [one, other].map((parts) => ownerOf(new ipaddr.IPv6(parts).toString()));
        const isSame = one.slice(0, 4).join(':') === other.slice(0, 4).join(':');
        assert.equal(owners[0] === owners[1], isSame, `${owners.join(' ')}`);
      }),
      { numRuns: 500 },
    );
  });
});
