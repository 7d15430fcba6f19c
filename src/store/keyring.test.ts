import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createKeyring, keyIdOf, sealedKeyId } from './keyring.ts';

const [older, newer] = [randomBytes(32), randomBytes(32)];

test('opens a sealed text with the same key and context only', () => {
  const keyring = createKeyring([older]);
  const sealed = keyring.seal('secret ü', 'oidc/m1');
  assert.equal(keyring.open(sealed, 'oidc/m1'), 'secret ü');
  assert.throws(() => keyring.open(sealed, 'oidc/m2'), { code: 'ERR_POSTERN_STORE_CORRUPT' });
  assert.notEqual(keyring.seal('secret ü', 'oidc/m1'), sealed);
});

test('detects any change of a sealed text', () => {
  const keyring = createKeyring([older]);
  const sealed = keyring.seal('s', 'a/b');
  const start = sealed.lastIndexOf('.') + 1;
  for (let at = start; at < sealed.length - 1; at += 1) {
    const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
    assert.throws(() => keyring.open(changed, 'a/b'), { code: 'ERR_POSTERN_STORE_CORRUPT' });
  }
  for (const broken of ['', 's1', 's2.x.y', 's1.abc.', sealed.slice(0, 20)]) {
    assert.throws(() => keyring.open(broken, 'a/b'), { code: 'ERR_POSTERN_STORE_CORRUPT' });
  }
});

test('seals with the first key, opens with the others, and names an unknown one', () => {
  const sealedByOlder = createKeyring([older]).seal('s', 'a/b');
  const both = createKeyring([newer, older]);
  assert.equal(both.open(sealedByOlder, 'a/b'), 's');
  assert.equal(sealedKeyId(both.seal('s', 'a/b')), keyIdOf(newer));
  assert.deepEqual(both.keyIds, [keyIdOf(newer), keyIdOf(older)]);
  assert.throws(() => createKeyring([newer]).open(sealedByOlder, 'a/b'), {
    code: 'ERR_POSTERN_SECRET_KEY',
    message: new RegExp(keyIdOf(older)),
  });
});

test('macs differ by purpose and by key', () => {
  const keyring = createKeyring([older]);
  assert.equal(keyring.mac('body', 'x'), keyring.mac('body', 'x'));
  assert.match(keyring.mac('body', 'x'), /^[0-9a-f]{64}$/);
  const macs = [
    keyring.mac('body', 'x'),
    keyring.mac('scope', 'x'),
    keyring.mac('body', 'y'),
    createKeyring([newer]).mac('body', 'x'),
  ];
  assert.equal(new Set(macs).size, macs.length);
});

test('another key of the ring can be the current one', () => {
  const [older, newer] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const old = createKeyring([older]);
  const ring = createKeyring([newer, older]);
  const before = ring.mac('body', 'x');
  ring.use(old.currentKeyId);
  assert.equal(ring.currentKeyId, old.currentKeyId);
  assert.equal(ring.mac('body', 'x'), old.mac('body', 'x'));
  assert.equal(old.open(ring.seal('secret', 'a/1'), 'a/1'), 'secret');
  ring.use(ring.keyIds[0] ?? '');
  assert.equal(ring.mac('body', 'x'), before);
  assert.throws(() => ring.use('0000000000'), /not in the ring/);
});
