import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { type CountryNetwork, mmdbFile } from '../../../test/support/mmdb-file.ts';
import { AddressTable } from '../../lib/net/address-list/address-table.ts';
import { countryOfNumber } from '../../lib/net/address-list/country-code.ts';
import { cidrMatcher, parseAddress } from '../../lib/net/cidr.ts';
import { countryTable } from './country-table.ts';

function countryOf(networks: readonly CountryNetwork[], address: string): string | null {
  const table = new AddressTable(countryTable(mmdbFile(networks)).table);
  const position = table.find(parseAddress(address) as never);
  return position === -1 ? null : countryOfNumber(table.valueAt(position));
}

const NETWORKS: readonly CountryNetwork[] = [
  ['192.0.2.0/24', 'DE'],
  ['198.51.100.0/25', 'FR'],
  ['198.51.100.128/25', null],
  ['2001:db8::/32', 'NL'],
];

suite('the table of a country database', () => {
  test('has the countries of IPv4 and IPv6 addresses', () => {
    assert.equal(countryOf(NETWORKS, '192.0.2.77'), 'DE');
    assert.equal(countryOf(NETWORKS, '::ffff:192.0.2.77'), 'DE');
    assert.equal(countryOf(NETWORKS, '198.51.100.127'), 'FR');
    assert.equal(countryOf(NETWORKS, '2001:db8:1::1'), 'NL');
  });

  test('has no country for an address that is unknown, or whose record names none', () => {
    assert.equal(countryOf(NETWORKS, '198.51.100.128'), null);
    assert.equal(countryOf(NETWORKS, '203.0.113.1'), null);
    assert.equal(countryOf(NETWORKS, '2001:db9::1'), null);
  });

  test('is not made of a database without countries', () => {
    assert.throws(() => countryTable(mmdbFile([['192.0.2.0/24', null]])), /has no countries/);
  });

  test('agrees with the networks that the database was made of', () => {
    const network = fc.tuple(fc.nat(255), fc.integer({ min: 9, max: 24 }), fc.constantFrom('DE', 'FR', 'US', null));
    fc.assert(
      fc.property(fc.array(network, { minLength: 1, maxLength: 8 }), fc.array(fc.nat(255)), (drawn, asked) => {
        // Apart from each other: which of two that overlap counts is a matter of the file's maker.
        const networks = [...new Map(drawn.map((each) => [each[0], each])).values()].map(
          ([octet, bits, country]): CountryNetwork => [`${octet}.128.0.0/${bits}`, country],
        );
        if (networks.every(([, country]) => country === null)) return;
        const table = new AddressTable(countryTable(mmdbFile(networks)).table);
        for (const octet of asked) {
          const address = parseAddress(`${octet}.128.0.${octet}`) as never;
          const position = table.find(address);
          const found = position === -1 ? null : countryOfNumber(table.valueAt(position));
          assert.equal(found, networks.find(([cidr]) => cidrMatcher(cidr)(address))?.[1] ?? null);
        }
      }),
      { numRuns: 50 },
    );
  });
});
