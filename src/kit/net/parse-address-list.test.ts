import assert from 'node:assert/strict';
import { isIPv4 } from 'node:net';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { AddressListProblem, AddressTable, type AddressWords, addressWords } from './address-table.ts';
import { cidrMatcher, isCidr, parseAddress, parseWrittenAddress } from './cidr.ts';
import { parseAddressList } from './parse-address-list.ts';

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

function tableOf(text: string): AddressTable {
  return new AddressTable(parseAddressList(bytesOf(text)).table);
}

function entryFor(table: AddressTable, address: string): string | null {
  const parsed = addressWords(address);
  assert(parsed !== null);
  const position = table.find(parsed);
  return position === -1 ? null : table.textAt(position);
}

suite('a plain list', () => {
  test('has addresses, CIDR ranges, FIRST-LAST, and comments, in lines of any system', () => {
    const table = tableOf(
      '\ufeff# a comment\r\n203.0.113.7\r\n198.51.100.0/24 ; SBL1\n; another\n\n 192.0.2.5 - 192.0.2.9\t# why\r2001:db8::/32\n2001:db9::1\n',
    );
    assert.equal(table.count, 5);
    assert.equal(entryFor(table, '203.0.113.7'), '203.0.113.7');
    assert.equal(entryFor(table, '203.0.113.8'), null);
    assert.equal(entryFor(table, '198.51.100.255'), '198.51.100.0/24');
    assert.equal(entryFor(table, '192.0.2.9'), '192.0.2.5-192.0.2.9');
    assert.equal(entryFor(table, '192.0.2.10'), null);
    assert.equal(entryFor(table, '2001:db8:ffff::1'), '2001:db8::/32');
    assert.equal(entryFor(table, '2001:db9::1'), '2001:db9::1');
  });

  test('treats IPv4 inside IPv6 as IPv4, in the list and in the address', () => {
    const table = tableOf('::ffff:203.0.113.0/120\n198.51.100.1\n');
    assert.equal(entryFor(table, '203.0.113.9'), '203.0.113.0/24');
    assert.equal(entryFor(table, '::ffff:198.51.100.1'), '198.51.100.1');
  });

  test('ignores bits beyond a prefix', () => {
    assert.equal(entryFor(tableOf('10.1.2.3/8'), '10.200.0.1'), '10.0.0.0/8');
    assert.equal(entryFor(tableOf('2001:db8::5/64'), '2001:db8::ffff'), '2001:db8::/64');
  });

  test('names the entry that contains another one', () => {
    assert.equal(entryFor(tableOf('10.1.2.3\n10.0.0.0/8\n10.0.0.0/16'), '10.1.2.3'), '10.0.0.0/8');
  });

  test('stops at the unreadable line after which no list could be read', () => {
    const parse = (): unknown => parseAddressList(bytesOf('?\n'.repeat(1_000)), 10);
    assert.throws(parse, { message: /: 2 of 2 lines are neither addresses nor ranges/ });
  });

  test('counts single lines that it cannot read', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `192.0.2.${at}`);
    const parsed = parseAddressList(bytesOf([...lines, '010.1.1.1'].join('\n')));
    assert.deepEqual([parsed.entries, parsed.skippedLines], [20, 1]);
  });

  for (const [what, text] of [
    ['HTML', '<!doctype html>\n<html><body>\n<p>10.0.0.1</p>\n</body></html>\n'],
    ['a hosts file', '0.0.0.0 ads.example.com\n0.0.0.0 tracker.example.com\n'],
    ['JSON', '{"cidr":"10.0.0.0/8"}\n{"cidr":"11.0.0.0/8"}\n'],
    ['binary data', '\u001f\u008b\u0000\u0000'],
    ['nothing', ''],
    ['comments alone', '# all quiet\n; yes\n'],
    ['one endless line', 'x'.repeat(100_000)],
  ] as const) {
    test(`is not ${what}, and the message quotes nothing of it`, () => {
      assert.throws(
        () => parseAddressList(bytesOf(text)),
        (error: unknown) => error instanceof AddressListProblem && !/ads|cidr|html|10\.0/.test(error.message),
      );
    });
  }

  test('has a limit', () => {
    assert.throws(() => parseAddressList(bytesOf('10.0.0.1\n10.0.0.2\n10.0.0.3'), 2), AddressListProblem);
  });
});

const ipv4 = fc.ipV4().filter(isIPv4);
const ipv6 = fc.ipV6().filter((text) => parseWrittenAddress(text) !== null);
/** Few different ones, so that ranges overlap and addresses hit them. */
const nearIpv4 = fc.tuple(fc.nat(3), fc.nat(255)).map(([a, b]) => `10.0.${a}.${b}`);
const nearIpv6 = fc.tuple(fc.nat(3), fc.nat(0xffff)).map(([a, b]) => `2001:db8::${a}:${b.toString(16)}`);
const address = fc.oneof(nearIpv4, nearIpv6, ipv4, ipv6);
const entry = fc.oneof(
  address,
  fc.tuple(fc.oneof(nearIpv4, ipv4), fc.nat(32)).map(([text, bits]) => `${text}/${bits}`),
  fc.tuple(fc.oneof(nearIpv6, ipv6), fc.nat(128)).map(([text, bits]) => `${text}/${bits}`),
  fc.tuple(nearIpv4, nearIpv4).map((pair) => pair.sort((a, b) => compare(a, b)).join('-')),
  fc.tuple(nearIpv6, nearIpv6).map((pair) => pair.sort((a, b) => compare(a, b)).join(' - ')),
);

function numberOf(text: string): bigint {
  const bytes = (parseAddress(text) as ipaddr.IPv4).toByteArray();
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function compare(a: string, b: string): number {
  return numberOf(a) < numberOf(b) ? -1 : 1;
}

/** The rule that a person would apply, entry by entry. */
function naiveMatches(line: string, text: string): boolean {
  const parsed = parseAddress(text) as ipaddr.IPv4;
  const [first = '', last] = line.split('-').map((part) => part.trim());
  if (last !== undefined) {
    const isSameKind = parseAddress(first)?.kind() === parsed.kind();
    return isSameKind && numberOf(first) <= numberOf(text) && numberOf(text) <= numberOf(last);
  }
  if (isCidr(first)) return cidrMatcher(first)(parsed);
  return parseAddress(first)?.toNormalizedString() === parsed.toNormalizedString();
}

suite('the table of a list', () => {
  test('finds exactly the addresses that some entry contains', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { minLength: 1, maxLength: 30 }),
        fc.array(address, { maxLength: 20 }),
        (lines, asked) => {
          const table = tableOf(lines.join('\n'));
          for (const text of [...asked, ...lines.map((line) => line.split(/[-/ ]/)[0] as string)]) {
            const isFound = table.find(addressWords(text) as AddressWords) !== -1;
            assert.equal(
              isFound,
              lines.some((line) => naiveMatches(line, text)),
              `${text} in ${lines.join(', ')}`,
            );
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('shows a range that contains the address', () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 10 }), address, (lines, text) => {
        const found = entryFor(tableOf(lines.join('\n')), text);
        if (found !== null) assert.ok(naiveMatches(found, text), `${found} does not contain ${text}`);
      }),
      { numRuns: 300 },
    );
  });

  test('is made of any bytes, or a problem is named', () => {
    const line = fc.oneof(
      entry,
      fc.string(),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef.:/- #;\t\r'.split('')) }),
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(line, { maxLength: 20 }).map((lines) => bytesOf(lines.join('\n'))),
    );
    fc.assert(
      fc.property(bytes, (input) => {
        try {
          const parsed = parseAddressList(input);
          const table = new AddressTable(parsed.table);
          assert.ok(table.count >= 1 && table.count <= parsed.entries);
          for (let at = 0; at < table.count; at += 1) assert.equal(typeof table.textAt(at), 'string');
        } catch (error) {
          assert.ok(error instanceof AddressListProblem, String(error));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('reads the addresses that Node calls IPv4, and no others', () => {
    const text = fc.oneof(ipv4, fc.string({ unit: fc.constantFrom(...'0123456789.'.split('')), maxLength: 16 }));
    fc.assert(
      fc.property(text, (each) => {
        const lines = [each, ...Array.from({ length: 20 }, (_, at) => `192.0.2.${at}`)].join('\n');
        assert.equal(parseAddressList(bytesOf(lines)).skippedLines, each === '' || isIPv4(each) ? 0 : 1);
      }),
      { numRuns: 500 },
    );
  });

  test('names the first address of a range of IPv6 as its address is written', () => {
    assert.equal(entryFor(tableOf('::1'), '::1'), '::1');
    assert.equal(
      new ipaddr.IPv6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]).toString(),
      entryFor(tableOf('2001:db8::1'), '2001:db8::1'),
    );
  });
});
