import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { SerialTable } from './revocation-list.ts';

/** A table of these serial numbers, encoded one after the other behind one byte. */
function tableOf(serials: readonly Uint8Array[]): SerialTable {
  const encoded = serials.map((serial) => Buffer.from([0x02, serial.length, ...serial]));
  const bytes = Buffer.concat([Buffer.from([0x30]), ...encoded]);
  const table = new SerialTable(bytes);
  let offset = 1;
  for (const { length } of encoded) {
    table.add(offset);
    offset += length;
  }
  for (const _pause of table.build(2)) {
    // Nothing else runs here.
  }
  return table;
}

suite('the table of serial numbers', () => {
  test('finds what was added and nothing else', () => {
    const serial = fc.uint8Array({ minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(serial, { maxLength: 60 }), fc.array(serial, { maxLength: 20 }), (added, others) => {
        const table = tableOf(added);
        const known = new Set(added.map((each) => Buffer.from(each).toString('hex')));
        assert.equal(table.count, added.length);
        for (const each of added) assert.equal(table.has(Buffer.from(each)), true);
        for (const each of others)
          assert.equal(table.has(Buffer.from(each)), known.has(Buffer.from(each).toString('hex')));
      }),
    );
  });

  test('is empty without entries', () => {
    assert.equal(tableOf([]).has(Buffer.from([1])), false);
  });

  test('grows beyond its first size', () => {
    const serials = Array.from({ length: 5000 }, (_, at) => new Uint8Array([0x40, at >> 8, at & 0xff]));
    const table = tableOf(serials);
    assert.equal(table.count, 5000);
    assert.ok(serials.every((serial) => table.has(Buffer.from(serial))));
    assert.equal(table.has(Buffer.from([0x41, 0, 0])), false);
  });
});
