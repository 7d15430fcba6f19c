import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { VacantNames } from './vacant-names.ts';

suite('vacant names', () => {
  test('are the names directly below the domain, and share a wildcard certificate', () => {
    const names = new VacantNames('tunnels.example.com');
    assert.equal(names.certificateNameOf('shop.tunnels.example.com'), '*.tunnels.example.com');
    const others = ['tunnels.example.com', '.tunnels.example.com', 'a.b.tunnels.example.com', 'example.com'];
    for (const host of [...others, 'shoptunnels.example.com', 'shop.tunnels.example.com.evil.test', '']) {
      assert.equal(names.has(host), false, host);
      assert.equal(names.certificateNameOf(host), null, host);
    }
  });

  test('have no certificate below localhost, whose wildcard clients reject', () => {
    const names = new VacantNames('localhost');
    assert.equal(names.has('shop.localhost'), true);
    assert.equal(names.certificateNameOf('shop.localhost'), null);
  });
});
