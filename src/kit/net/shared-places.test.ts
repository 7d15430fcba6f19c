import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { CODE_OF_SHORTAGE, ownerOf, SharedPlaces, shortageOfCode, WaitingStrangers } from './shared-places.ts';

const LEAST_SHARE = 8;

/** As many places as the address gets. */
function take(places: SharedPlaces, address: string): number[] {
  const held: number[] = [];
  while (places.shortage(address) === null) held.push(places.enter(address));
  return held;
}

suite('places that visitors share', () => {
  test('give an address half of what others leave', () => {
    const places = new SharedPlaces(1_000);
    assert.equal(take(places, '192.0.2.1').length, 500);
    assert.equal(places.shortage('192.0.2.1'), 'share');
    assert.equal(take(places, '192.0.2.2').length, 250);
    assert.equal(take(places, '192.0.2.3').length, 125);
    assert.equal(places.held, 875);
    assert.equal(places.shortage(), null, 'an unknown address has no share');
  });

  test('count an IPv6 /64 as one address', () => {
    const places = new SharedPlaces(100);
    for (let at = 0; at < 50; at += 1) places.enter(`2001:db8::${at.toString(16)}`);
    assert.equal(places.shortage('2001:db8::ffff'), 'share');
    assert.equal(places.shortage('2001:db8:0:1::1'), null);
  });

  test('give places again that were left, before and after addresses are counted', () => {
    const places = new SharedPlaces(400);
    for (let round = 0; round < 3; round += 1) {
      const first = take(places, '192.0.2.1');
      const second = take(places, '192.0.2.2');
      assert.deepEqual([first.length, second.length], [200, 100]);
      for (const place of first.splice(0, 50)) places.leave(place);
      second.push(...take(places, '192.0.2.2'));
      assert.equal(second.length, 125);
      assert.equal(places.shortage('192.0.2.1'), 'share', '150 held, 125 free');
      for (const place of [...first, ...second]) places.leave(place);
      assert.equal(places.held, 0);
    }
  });

  test('never give an address more than half of what others leave, in any order', () => {
    const places = new SharedPlaces(200);
    const held = new Map<string, number[]>();
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (let step = 0; step < 20_000; step += 1) {
      const address = `192.0.2.${random(6)}`;
      const own = held.get(address) ?? [];
      held.set(address, own);
      const isTaking = random(1_000) < 200 + 600 * Number(Math.floor(step / 2_000) % 2 === 0);
      const free = places.size - places.held;
      const expected = free <= 0 ? 'full' : own.length < free || own.length < LEAST_SHARE ? null : 'share';
      assert.equal(places.shortage(address), expected);
      if (!isTaking) {
        const place = own.pop();
        if (place !== undefined) places.leave(place);
      } else if (expected === null) own.push(places.enter(address));
    }
  });

  test('are enough for a lone visitor where they are few', () => {
    const places = new SharedPlaces(6);
    assert.equal(take(places, '192.0.2.1').length, 6);
    assert.equal(places.shortage('192.0.2.2'), 'full');
    assert.equal(take(new SharedPlaces(12), '192.0.2.1').length, LEAST_SHARE);
  });

  test('follow a size that changes', () => {
    const places = new SharedPlaces(1_000);
    const held = take(places, '192.0.2.1');
    places.size = 100;
    assert.equal(places.shortage('192.0.2.2'), 'full');
    for (const place of held) places.leave(place);
    assert.equal(take(places, '192.0.2.1').length, 50);
  });
});

test('strangers who are too many drop one of their own, or the one that has waited longest', () => {
  const strangers = new WaitingStrangers<number>(40);
  const dropped: (number | null)[] = [strangers.add(0, '192.0.2.9')];
  for (let key = 1; key <= 30; key += 1) dropped.push(strangers.add(key, '192.0.2.1'));
  assert.deepEqual(
    dropped.slice(0, 21),
    Array.from({ length: 21 }, () => null),
  );
  assert.deepEqual(dropped.slice(21), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(strangers.size, 21);
  for (let key = 31; key < 50; key += 1) assert.equal(strangers.add(key, `198.51.100.${key}`), null);
  assert.equal(strangers.size, 40);
  assert.equal(strangers.add(50, '192.0.2.1'), 11, 'of its own, although others wait longer');
  assert.equal(strangers.add(51, '203.0.113.1'), 0, 'of all');
  assert.deepEqual([strangers.delete(51), strangers.delete(51), strangers.size], [true, false, 39]);
});

test('a shortage has a reset code of its own', () => {
  for (const shortage of ['full', 'share'] as const) assert.equal(shortageOfCode(CODE_OF_SHORTAGE[shortage]), shortage);
  for (let code = 0; code < 14; code += 1) assert.equal(shortageOfCode(code), null);
});

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
