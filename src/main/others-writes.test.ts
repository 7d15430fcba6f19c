import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Replica } from '../replica/replica.ts';
import { storeErrors } from '../store/errors.ts';
import type { Store, StoreHealth } from '../store/store.ts';
import { othersWrites } from './others-writes.ts';

const OK: StoreHealth = { state: 'ok', problem: null };

function catchUp(isShared: boolean, health: StoreHealth, refresh: () => Promise<void>): Promise<void> {
  const store = { sharing: { isShared }, health: () => health } as Store;
  return othersWrites(store, { revision: 1, refresh } as unknown as Replica).catchUp();
}

suite('what other nodes wrote', () => {
  test('is read, unless nobody else uses the store', async () => {
    let reads = 0;
    const refresh = async (): Promise<void> => {
      reads += 1;
    };
    await catchUp(true, OK, refresh);
    assert.equal(reads, 1);
    await catchUp(false, OK, refresh);
    assert.equal(reads, 1);
  });

  test('is unknown while the store has a problem, which is the answer', async () => {
    const problem = storeErrors.create('ERR_POSTERN_STORE_READ_ONLY', 'a standby');
    const refresh = (): Promise<void> => assert.fail('it waits for a store that is known to be away');
    await assert.rejects(catchUp(true, { state: 'degraded', problem }, refresh), problem);
  });

  test('is unknown when the store fails or does not answer', async () => {
    const expected = { code: 'ERR_POSTERN_STORE_UNAVAILABLE', message: /nothing was written, send the request again/ };
    await assert.rejects(
      catchUp(true, OK, () => Promise.reject(new Error('a password'))),
      expected,
    );
    await assert.rejects(
      catchUp(true, OK, () => new Promise(() => {})),
      expected,
    );
  });
});
