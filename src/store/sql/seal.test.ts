import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { createKeyring } from '../keyring.ts';
import { RecentSeals, type Sealing } from './seal.ts';

function counted() {
  const keyring = createKeyring([randomBytes(32)]);
  const opened: string[] = [];
  const counting: Sealing = {
    seal: (text, context) => keyring.seal(text, context),
    open: (sealed, context) => {
      opened.push(context);
      return keyring.open(sealed, context);
    },
  };
  return { seals: new RecentSeals(counting), opened };
}

suite('recent seals', () => {
  test('open without decryption until they are forgotten', () => {
    const { seals, opened } = counted();
    const sealed = seals.seal('secret', 'edge/a');
    assert.deepEqual([seals.open(sealed, 'edge/a'), opened], ['secret', []]);
    seals.forget();
    assert.deepEqual([seals.open(sealed, 'edge/a'), opened], ['secret', ['edge/a']]);
  });

  test('do not open in another row', () => {
    const { seals } = counted();
    const sealed = seals.seal('secret', 'edge/a');
    assert.throws(() => seals.open(sealed, 'edge/b'), { code: 'ERR_POSTERN_STORE_CORRUPT' });
  });

  test('remember a bounded number', () => {
    const { seals, opened } = counted();
    const all = Array.from({ length: 1_010 }, (_, at) => seals.seal(`${at}`, 'edge/a'));
    for (const [at, sealed] of all.entries()) assert.equal(seals.open(sealed, 'edge/a'), `${at}`);
    assert.equal(opened.length, 10);
  });
});
