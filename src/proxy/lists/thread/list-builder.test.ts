import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type CountryNetwork, mmdbFile } from '../../../../test/support/mmdb-file.ts';
import { AddressTable, addressWords } from '../../../kit/net/address-table.ts';
import { cidrMatcher, parseAddress } from '../../../kit/net/cidr.ts';
import { countryOfNumber } from '../../../kit/net/country-code.ts';
import { countryTable } from './list-builder.ts';

function countryOf(networks: readonly CountryNetwork[], address: string): string | null {
  const table = new AddressTable(countryTable(mmdbFile(networks)).table);
  const position = table.find(addressWords(address) as never);
  return position === -1 ? null : countryOfNumber(table.valueAt(position));
}

const NETWORKS: readonly CountryNetwork[] = [
  ['192.0.2.0/24', 'DE'],
  ['198.51.100.0/25', 'FR'],
  ['198.51.100.128/25', null],
  ['2001:db8::/32', 'NL'],
];

/**
 * A database that the Python package mmdb_writer 0.2.7 made: 192.0.2.0/24 is in DE (registered in US), 2001:db8::/32 in
 * NL, and 198.51.100.0/25 has only a continent.
 */
const FOREIGN_DATABASE = gunzipSync(
  Buffer.from(
    'H4sIAAAAAAACA13S91LUUBTH8bOIiF0UFbHFggUFFezdpSxdBBEVNWZ3LxBkkzUJyGLvvfcOVmYcH8IH8CGW//zD8QmccflidDST+cwv59ycuX' +
      'fmigREBkTScITIdZF08kjMwFGYiaNxDI7FcTgeJ+BEnIRZOBmnYDZOxWk4HXNwBubiTJyFs3EOzkUN5+F8XIALMQ8X4WJcgksxH5fhcizAQlyB' +
      'K3EVFmExrsY1uBbX4XrcgBtxE27GLbgVt+F23IFBLMFSLMNyDGEFVmIVVmMN1mId7sR63IUN2Ii7sQn3YDPuxX24H1vwAB7EQ6jjYUy9BoZFIo' +
      'QoKmwV6RFpI7ejiR14BDsxhhbaGMej6KCLHnZht7+HYxLI8HNCpJdwHE/49ZN4SuQ04YxfP4vnRM77lQt4UeQS4bJfvyJylXBtyMDw7bqBN/EW' +
      '3sY7eBfv4X18gA/xET725z8ReUp4hs/xhd99ia9EXvuVPuwXeeNX3uI7fC/ygfCR3Q7f3n+fUMTusjwnUWG6th6xoypYWlZmGTHlBpUVCiknZl' +
      'iJpJarzR7UMrUsLVvLa3BUm+l6ylFR/fffwabGZKpdPqiJlq8Va5WVEdvyTEtZXilDy5qSmqG1JrVmzQzW1QwtdpOpxd2fvv6oNXpqTStaGLFj' +
      '36qs1OrhqV8Gqh0VsZ2o7pq9qj+nyozr3cpxTdvqz6iNGp4RNlyle4m4qg8pu8b0VFFByfB+KjsNq63LaFNuID11jpawaRlOQm+1U8fx9JjRYT' +
      't/ZqX93zWtv92+6qhyI44Z91IfydSoUk+5XnW4y+yM6ipuR9rT0zp+fv/8C7/+XotHBQAA',
    'base64',
  ),
);

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

  test('is made of a database that another program wrote', () => {
    const { table, entries } = countryTable(FOREIGN_DATABASE);
    const addresses = new AddressTable(table);
    const found = ['192.0.2.77', '2001:db8:1::1', '198.51.100.1', '203.0.113.1'].map((address) => {
      const position = addresses.find(addressWords(address) as never);
      return position === -1 ? null : countryOfNumber(addresses.valueAt(position));
    });
    assert.deepEqual([entries, ...found], [2, 'DE', 'NL', null, null]);
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
          const text = `${octet}.128.0.${octet}`;
          const address = parseAddress(text) as never;
          const position = table.find(addressWords(text) as never);
          const found = position === -1 ? null : countryOfNumber(table.valueAt(position));
          assert.equal(found, networks.find(([cidr]) => cidrMatcher(cidr)(address))?.[1] ?? null);
        }
      }),
      { numRuns: 50 },
    );
  });
});
