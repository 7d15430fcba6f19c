import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { element } from '../../../test/support/test-crl.ts';
import { DerProblem } from './der-cursor.ts';
import { countElements } from './describe-certificate.ts';

suite('number of DER elements', () => {
  const NULL = Buffer.from([0x05, 0x00]);

  test('counts every depth, and what octet strings contain', () => {
    const inner = element(0x30, Buffer.concat([NULL, NULL]));
    const whole = element(0x30, Buffer.concat([element(0x04, inner), inner, element(0x04, Buffer.from('text'))]));
    assert.equal(countElements(whole, 100), 9);
    assert.equal(countElements(whole, 5), 6, 'stops above the limit');
  });

  test('takes an octet string as it is when it contains something else', () => {
    const octets = element(0x04, Buffer.from([0x30, 0x02, 0x05, 0x04]));
    // The NULL is behind the octet string, which cannot hide it.
    assert.equal(countElements(element(0x30, Buffer.concat([octets, NULL, NULL])), 100), 5);
  });

  test('rejects what is not DER', () => {
    assert.throws(() => countElements(Buffer.from([0x30, 0x80, 0x00, 0x00]), 100), DerProblem);
    assert.throws(() => countElements(Buffer.from([0x30, 0x02, 0x05]), 100), DerProblem);
  });

  test('needs no stack for nested elements', () => {
    let nested: Buffer = NULL;
    for (let depth = 0; depth < 8000; depth += 1) nested = element(0x30, nested);
    assert.equal(countElements(nested, 100_000), 8001);
  });
});
