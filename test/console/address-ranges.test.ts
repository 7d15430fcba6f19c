import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { rangesProblem } from '../../console/src/format/address-ranges.ts';

suite('address ranges', () => {
  test('rejects what looks like an address and is none', () => {
    for (const text of [
      '10.0.0.300',
      '10.0.0.1/33',
      '2001:db8:::1',
      '2001:db8::/129',
      'nonsense',
      '10.0.0',
      '1.2.3.4/',
    ])
      assert.match(rangesProblem(text) ?? '', /is neither an address nor a range/, text);
    for (const text of ['', '10.0.0.1', '10.0.0.0/8, 192.0.2.7', '2001:db8::/32', '::1', '::ffff:192.0.2.7'])
      assert.equal(rangesProblem(text), null, text);
  });
});
