import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOnThisMachine } from './connection.ts';

test('a key from a file goes to this machine only, by whatever spelling of loopback', () => {
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]', '[::ffff:127.0.0.1]']) {
    assert.equal(isOnThisMachine(`http://${host}:7080`), true, host);
  }
  // A resolver without RFC 6761 asks the network for names under localhost.
  for (const host of ['shop.localhost', '10.0.0.1', '[2001:db8::1]', 'localhost.example.com', '0.0.0.0']) {
    assert.equal(isOnThisMachine(`http://${host}:7080`), false, host);
  }
});
