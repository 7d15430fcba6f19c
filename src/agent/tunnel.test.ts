import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeGatewayMessage } from '../tunnel/messages.ts';
import { Tunnel } from './tunnel.ts';

test('a tunnel reads its public address from servers of either wire form', () => {
  const forms = [
    { url: 'https://a.test' }, // The previous form.
    { public_url: 'https://a.test', url: 'https://a.test' },
    { public_url: 'https://a.test' },
  ];
  for (const form of forms) {
    const decoded = decodeGatewayMessage(JSON.stringify({ t: 'bound', ref: 0, id: 'tn_1', region: 'test', ...form }));
    assert.ok(decoded.ok && 'message' in decoded && decoded.message.t === 'bound');
    const tunnel = new Tunnel(0, { addr: '3000', proto: 'https' });
    tunnel.bound(decoded.message);
    assert.equal(tunnel.publicUrl, 'https://a.test', JSON.stringify(form));
    assert.equal(tunnel.url, tunnel.publicUrl, 'programs may still use the former name');
    // The next session asks for the same name.
    assert.equal(tunnel.bindMessage().domain, 'a.test', JSON.stringify(form));
  }
});
