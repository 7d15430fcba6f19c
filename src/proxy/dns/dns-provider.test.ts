import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { isRecordName, longestZone, nameInZone } from './dns-provider.ts';

const label = fc.stringMatching(/^[a-c_]{1,2}$/);
const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));

suite('the zone of a name', () => {
  test('is the longest one that the name is in, label by label', () => {
    fc.assert(
      fc.property(name, fc.uniqueArray(name, { maxLength: 8 }), (of, names) => {
        const zones = names.map((zone) => ({ zone }));
        // By the definition: the name, then each parent.
        const labels = of.split('.');
        const parents = labels.map((_, start) => labels.slice(start).join('.'));
        const expected = parents.find((parent) => names.includes(parent)) ?? null;
        assert.equal(longestZone(of, zones)?.zone ?? null, expected);
      }),
    );
  });

  test('and the part before it make the name again', () => {
    fc.assert(
      fc.property(name, name, (of, zone) => {
        assert.equal(`${nameInZone(`${of}.${zone}`, zone)}.${zone}`, `${of}.${zone}`);
        assert.equal(nameInZone(zone, zone), '@');
      }),
    );
  });

  test('is not one that merely ends with the same letters', () => {
    assert.equal(longestZone('_acme-challenge.notexample.com', [{ zone: 'example.com' }]), null);
  });
});

test('names of records may have underscores, and no capital letters or final dots', () => {
  const names = [
    '_acme-challenge.example.com',
    'example.com',
    'a',
    'Example.com',
    'example.com.',
    '',
    'a..b',
    '*.a',
    '-a.b',
  ];
  assert.deepEqual(names.filter(isRecordName), names.slice(0, 3));
});
