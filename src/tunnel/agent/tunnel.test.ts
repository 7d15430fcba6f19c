import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeGatewayMessage } from '../protocol/messages.ts';
import { Tunnel } from './tunnel.ts';

test('a tunnel reads its public address, and asks for the same name in the next session', () => {
  const message = { t: 'bound', ref: 0, id: 'tn_1', region: 'test', public_url: 'https://a.test' };
  const decoded = decodeGatewayMessage(JSON.stringify(message));
  assert.ok(decoded.ok && 'message' in decoded && decoded.message.t === 'bound');
  const tunnel = new Tunnel(0, { addr: '3000', proto: 'https' });
  tunnel.bound(decoded.message);
  assert.equal(tunnel.publicUrl, 'https://a.test');
  assert.equal(tunnel.bindMessage().domain, 'a.test');
});
