import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { LatePart } from './late-part.ts';

suite('LatePart', () => {
  test('fails loudly before it is open, and when it opens twice', () => {
    const gateway = new LatePart<string>('the gateway');
    assert.equal(gateway.ifOpen, null);
    assert.throws(() => gateway.get(), /the gateway is not open yet/);
    gateway.open('opened');
    assert.throws(() => gateway.open('again'), /the gateway is open already/);
    assert.deepEqual([gateway.get(), gateway.ifOpen], ['opened', 'opened']);
  });

  test('is open too where the server has no such part', async () => {
    const gateway = new LatePart<string | null>('the gateway');
    gateway.open(null);
    assert.equal(gateway.get(), null);
    assert.equal(await gateway.whenOpen, null);
  });
});
