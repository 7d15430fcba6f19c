import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type ipaddr from 'ipaddr.js';
import { type AddressWords, addressWords, prefixIn } from './address-table.ts';
import { cidrMatcher, parseAddress } from './cidr.ts';
import { type Prefix, PrefixTree } from './prefix-tree.ts';

interface Entry {
  readonly id: string;
  readonly cidr: string;
}

function prefixOf(cidr: string): Prefix {
  const [address = '', bits = ''] = cidr.split('/');
  return { address: addressWords(address) as AddressWords, bits: prefixIn(bits) };
}

/** Few different ones, so that they contain each other, and the same one comes again. */
const ipv4 = fc
  .tuple(fc.constantFrom(10, 192, 255), fc.nat(3), fc.constantFrom(0, 1, 127, 128), fc.nat(3))
  .map((parts) => parts.join('.'));
const ipv6 = fc
  .tuple(fc.constantFrom('2001:db8', 'fe80:0', '8000:0'), fc.nat(2), fc.constantFrom('0', 'ffff', '8000'))
  .map(([net, at, host]) => `${net}:${at}::${host}`);
const cidr = fc.oneof(
  fc
    .tuple(ipv4, fc.oneof(fc.nat(32), fc.constantFrom(0, 8, 24, 31, 32)))
    .map(([address, bits]) => `${address}/${bits}`),
  fc
    .tuple(ipv6, fc.oneof(fc.nat(128), fc.constantFrom(0, 31, 32, 33, 64, 96, 127, 128)))
    .map(([address, bits]) => `${address}/${bits}`),
);
const step = fc.record({ id: fc.nat(15).map((at) => `ipr_${String(at).padStart(2, '0')}`), cidr: fc.option(cidr) });

suite('a tree of prefixes', () => {
  test('finds what a scan finds, after any changes, and former trees stay as they were', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.array(fc.oneof(ipv4, ipv6), { minLength: 5 }),
        (steps, asked) => {
          const entries = new Map<string, Entry>();
          let tree = new PrefixTree<Entry>();
          const former: (readonly [PrefixTree<Entry>, readonly Entry[]])[] = [];
          for (const { id, cidr: wanted } of steps) {
            const known = entries.get(id);
            if (known !== undefined) tree = tree.without(prefixOf(known.cidr), id);
            entries.delete(id);
            if (wanted !== null) {
              const entry = { id, cidr: wanted };
              tree = tree.with(prefixOf(wanted), entry);
              entries.set(id, entry);
            }
            former.push([tree, [...entries.values()]]);
          }
          for (const [each, all] of former) {
            assert.equal(each.isEmpty, all.length === 0);
            for (const text of [...asked, ...all.map((entry) => entry.cidr.split('/')[0] as string)]) {
              const address = parseAddress(text) as ipaddr.IPv4;
              const matching = all.filter((entry) => cidrMatcher(entry.cidr)(address)).map(({ id }) => id);
              assert.equal(each.find(addressWords(text) as AddressWords)?.id, matching.sort().at(-1), text);
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('is left as it is by the removal of what it does not have', () => {
    const tree = new PrefixTree<Entry>().with(prefixOf('10.0.0.0/8'), { id: 'b', cidr: '10.0.0.0/8' });
    const same = tree.without(prefixOf('10.0.0.0/8'), 'a').without(prefixOf('10.0.0.0/9'), 'b');
    assert.equal(same.find(0x0a00_0001)?.id, 'b');
  });

  test('changes by some steps among 20,000 entries for one prefix, in any order', () => {
    const ids = Array.from({ length: 20_000 }, (_, at) => String((at * 7_919) % 20_000).padStart(5, '0'));
    const prefix = prefixOf('0.0.0.0/0');
    let tree = new PrefixTree<Entry>();
    const before = performance.now();
    for (const id of ids) tree = tree.with(prefix, { id, cidr: '' });
    assert.equal(tree.find(1)?.id, '19999');
    for (const id of ids.filter((text) => text !== '00007')) tree = tree.without(prefix, id);
    assert.equal(tree.find(1)?.id, '00007');
    assert.ok(performance.now() - before < 10_000);
  });
});

suite('words of an address', () => {
  test('are those of the library, for everything that it reads', () => {
    const text = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      ipv4,
      ipv6,
      fc.ipV4().map((address) => `::ffff:${address}`),
      fc.constantFrom('::', '::1', '1::', '::ffff:a00:1', '::ffff:0:1', 'fe80::1%eth0', '::1.2.3.4', '01.2.3.4', ''),
      fc.tuple(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), fc.boolean()).map(([groups, isUpper]) => {
        const plain = groups.map((group) => group.toString(16)).join(':');
        return isUpper ? plain.toUpperCase() : plain;
      }),
    );
    fc.assert(
      fc.property(text, (address) => {
        const found = addressWords(address);
        const parsed = parseAddress(address);
        const words = typeof found === 'number' ? [found] : found;
        const bytes = words?.flatMap((word) => [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255]);
        assert.deepEqual(bytes ?? null, parsed?.toByteArray() ?? null, address);
      }),
      { numRuns: 3_000 },
    );
  });

  test('names some of its prefixes', () => {
    const tree = ['10.0.0.0/8', '10.1.0.0/16', '2001:db8::/32', '192.0.2.7/32'].reduce(
      (all, cidr) => all.with(prefixOf(cidr), { id: cidr }),
      new PrefixTree<{ readonly id: string }>(),
    );
    const ids = (count: number): readonly string[] => tree.some(count).map(({ id }) => id);
    assert.deepEqual(ids(2), ['10.0.0.0/8', '10.1.0.0/16']);
    assert.deepEqual(ids(9), ['10.0.0.0/8', '10.1.0.0/16', '192.0.2.7/32', '2001:db8::/32']);
  });
});
