import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { OPERATION, type ReadMessage, readMessage, TYPE, writeMessage } from './dns-messages.ts';
import { signMessage, type TsigKey, verifyResponse } from './tsig.ts';

const KEY: TsigKey = {
  name: 'postern',
  algorithm: 'hmac-sha256',
  secret: Buffer.from('0123456789abcdef0123456789abcdef'),
};
const NOW = 1_763_460_000_000;
const question = { name: 'example.com', type: TYPE.SOA };
const request = signMessage(writeMessage({ id: 7, operation: OPERATION.QUERY, question }), KEY, NOW);
/** The response of dnspython 2 to this request, with the same key and clock: another implementation. */
const RESPONSE = Buffer.from(
  '000780000001000000000001076578616d706c6503636f6d000006000107706f737465726e0000fa00ff00000000003d0b686d61632d736861323536000000691c43a0012c00202f54587fa58a4075ccb2065b837f95c78663023a85145f91e6309dd60e92b027000700000000',
  'hex',
);

function verdict(bytes: Buffer, { key = KEY, requestMac = request.mac, nowMs = NOW } = {}): string {
  return verifyResponse(bytes, readMessage(bytes) as ReadMessage, key, { requestMac, nowMs });
}

suite('the signature of a response', () => {
  test('of another implementation is valid', () => assert.equal(verdict(RESPONSE), 'valid'));

  test('is not valid with any other byte, request, key or time', () => {
    for (let at = 0; at < RESPONSE.length; at += 1) {
      const changed = Buffer.from(RESPONSE);
      changed[at] = (changed[at] as number) ^ 0x10;
      const message = readMessage(changed);
      // The id of the message is restored from the signature, and is compared with that of the request elsewhere.
      // Nothing reads the time to live of the record (42 to 45), which must be 0.
      const isRead = at > 1 && (at < 42 || at > 45);
      if (isRead && message !== null) assert.notEqual(verdict(changed), 'valid', `byte ${at}`);
    }
    assert.equal(verdict(RESPONSE, { requestMac: Buffer.alloc(32) }), 'BADSIG');
    assert.equal(verdict(RESPONSE, { key: { ...KEY, secret: Buffer.alloc(32) } }), 'BADSIG');
    assert.equal(verdict(RESPONSE, { key: { ...KEY, name: 'other' } }), 'BADKEY');
    assert.equal(verdict(RESPONSE, { nowMs: NOW + 301_000 }), 'BADTIME');
  });

  test('is missing in a response without one', () => {
    const unsigned = writeMessage({ id: 7, operation: OPERATION.QUERY, question });
    assert.equal(verdict(unsigned), 'missing');
  });
});
