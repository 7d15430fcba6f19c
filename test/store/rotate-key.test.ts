import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { keyIdOf, sealedKeyId } from '../../src/store/keyring.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { rotateKey } from '../../src/store/rotate-key.ts';
import { shareOfCases } from '../support/share-of-cases.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';
import { fillSecrets } from './filled-store.ts';

usePostgres();

const ROTATE = fileURLToPath(new URL('./rotate-process.ts', import.meta.url));
/** Keys written, two batches of records, one of sessions, check, old key dropped. */
const STEPS = 7;

for (const [at, engine] of ENGINES.entries()) {
  const steps = shareOfCases(
    Array.from({ length: STEPS }, (_, n) => n + 1),
    at,
    2,
  );
  suite(engine, { concurrency: 2 }, () => {
    test('every secret moves to a new key, and the old key is removed', async (t) => {
      const location = await emptyLocation(t, engine);
      const store = await openAt(location);
      await fillSecrets(store);
      const before = await everything(store);
      await store.close();
      const [oldKey] = keysOf(location);
      const { keyId, resealed, droppableKeyIds } = await rotateKey({ target: location });
      assert.deepEqual([resealed, droppableKeyIds], [207, []]);
      const keys = keysOf(location);
      assert.equal(keys.length, 1);
      assert.notEqual(keys[0], oldKey);
      assert.deepEqual(await sealingKeyIds(location), [keyId]);
      assert.equal(keyIdOf(Buffer.from(keys[0] ?? '', 'base64')), keyId);
      const again = await openAt(location);
      assert.deepEqual(await everything(again), before);
      assert.deepEqual((await again.logins.getSession('as_1'))?.secrets, { refresh_token: 'secret-s' });
      assert.deepEqual((await again.identity.findSession('s1'))?.payload, { uid: 's1' });
    });

    test('killed at any step, the store starts, and a second run finishes', async (t) => {
      for (const step of steps) {
        const location = await emptyLocation(t, engine);
        const store = await openAt(location);
        await fillSecrets(store);
        const before = await everything(store);
        await store.close();
        const { signal, stdout } = spawnSync(process.execPath, [ROTATE, JSON.stringify(location), String(step)], {
          encoding: 'utf8',
        });
        assert.equal(signal, 'SIGKILL', `step ${step} was not reached: ${stdout}`);
        const between = await openAt(location);
        assert.deepEqual(await everything(between), before);
        await committed(between, { puts: [put('oidc', 'between', { secrets: { s: 'between' } })] });
        await between.close();
        const { keyId } = await rotateKey({ target: location });
        assert.equal(keysOf(location).length, 1);
        assert.deepEqual(await sealingKeyIds(location), [keyId]);
        const after = await openAt(location);
        assert.equal((await everything(after)).records.length, before.records.length + 1);
        await after.close();
      }
    });

    test('the process reports how many steps it can be killed at', async (t) => {
      const location = await emptyLocation(t, engine);
      const store = await openAt(location);
      await fillSecrets(store);
      await store.close();
      const { stdout } = spawnSync(process.execPath, [ROTATE, JSON.stringify(location), '0'], { encoding: 'utf8' });
      assert.equal(stdout.trim(), `finished after ${STEPS} steps`);
    });

    test('with POSTERN_SECRET_KEY as NEW,OLD everything moves to NEW', async (t) => {
      const location = await emptyLocation(t, engine);
      const [older, newer] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')) as [
        string,
        string,
      ];
      const store = await openAt(location, { secretKey: older });
      await fillSecrets(store);
      await store.close();
      await assert.rejects(rotateKey({ target: { ...location, secretKey: older } }), {
        code: 'ERR_POSTERN_SECRET_KEY',
        message: /NEW,OLD/,
      });
      await assert.rejects(rotateKey({ target: { ...location, secretKey: newer } }), {
        code: 'ERR_POSTERN_SECRET_KEY',
      });
      const result = await rotateKey({ target: { ...location, secretKey: `${newer},${older}` } });
      assert.equal(result.resealed, 207);
      assert.deepEqual(result.droppableKeyIds, [keyIdOf(Buffer.from(older, 'base64'))]);
      const again = await openAt(location, { secretKey: newer });
      assert.equal((await everything(again)).records.length, 207);
    });

    test('a running server keeps its key file', async (t) => {
      const location = await emptyLocation(t, engine);
      await openAt(location);
      const keys = keysOf(location);
      await assert.rejects(rotateKey({ target: location }), { code: 'ERR_POSTERN_STORE_IN_USE' });
      assert.deepEqual(keysOf(location), keys);
    });
  });
}

test('postgres: servers that know both keys continue to write while rows are resealed', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const [older, newer] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64')) as [string, string];
  const first = await openAt(location, { secretKey: older });
  await fillSecrets(first);
  await first.close();
  // The worst order: this server still seals with the old key.
  const server = await openAt(location, { secretKey: `${older},${newer}` });
  const secretOf = (n: number) => ({ s: `written meanwhile ${n}` });
  let isDone = false;
  let written = 0;
  const writing = (async () => {
    for (; !isDone; written += 1)
      await committed(server, { puts: [put('meanwhile', `m${written}`, { secrets: secretOf(written) })] });
  })();
  await rotateKey({ target: { ...location, secretKey: `${newer},${older}` } });
  isDone = true;
  await writing;
  const { records } = await everything(server);
  const found = records.filter(({ kind }) => kind === 'meanwhile');
  assert.equal(found.length, written);
  for (const { id, secrets } of found) assert.deepEqual(secrets, secretOf(Number(id.slice(1))));
});

function keysOf({ dataDir }: StoreLocation): string[] {
  return readFileSync(join(dataDir, 'secret.key'), 'utf8').trim().split('\n');
}

async function sealingKeyIds(location: StoreLocation): Promise<string[]> {
  const rows = await querySql(
    location,
    `SELECT secrets FROM records WHERE secrets IS NOT NULL UNION ALL SELECT secrets FROM app_sessions
      WHERE secrets IS NOT NULL UNION ALL SELECT value AS secrets FROM meta WHERE name = 'key_check'`,
  );
  return [...new Set(rows.map(({ secrets }) => sealedKeyId(String(secrets))))];
}
