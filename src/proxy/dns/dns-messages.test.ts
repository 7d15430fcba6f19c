import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CLASS, OPERATION, readMessage, readTexts, TYPE, writeMessage, writeText } from './dns-messages.ts';

test('reads what was written, and the texts of a record as one', () => {
  const question = { name: 'Example.com', type: TYPE.SOA };
  const bytes = writeMessage({ id: 513, operation: OPERATION.UPDATE, question });
  assert.deepEqual(readMessage(bytes), {
    id: 513,
    isResponse: false,
    isAuthoritative: false,
    isTruncated: false,
    code: 0,
    question: { name: 'example.com', type: TYPE.SOA },
    answers: [],
    additional: [],
  });
  assert.equal(readTexts(Buffer.concat([writeText('one '), writeText('two')])), 'one two');
  assert.equal(readTexts(Buffer.from([5, 65])), null);
});

test('ends with a message or null for any bytes', () => {
  const data = writeText('value');
  const updates = [{ name: 'a.example.com', type: TYPE.TXT, class: CLASS.IN, ttl: 60, data }];
  const whole = writeMessage({
    id: 1,
    operation: OPERATION.UPDATE,
    question: { name: 'example.com', type: TYPE.SOA },
    updates,
  });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(whole.length), (noise, at) => {
      readMessage(Buffer.from(noise));
      readMessage(Buffer.concat([whole.subarray(0, at), noise]));
    }),
  );
});

test('rejects a name that points at itself or forward', () => {
  const head = Buffer.from([0, 1, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  assert.equal(readMessage(Buffer.concat([head, Buffer.from([0xc0, 12, 0, 16, 0, 1])])), null);
  assert.equal(readMessage(Buffer.concat([head, Buffer.from([0xc0, 14, 0xc0, 12, 0, 16, 0, 1])])), null);
});
