import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { currentSchema } from '../../src/store/sql/schema/migrations.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { everything, put } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';

usePostgres();

const PLANTED = 'planted-secret-3f9a';
const SECRET_KEY_ERROR = { code: 'ERR_POSTERN_SECRET_KEY' };

for (const engine of ENGINES) {
  suite(engine, () => {
    test('no secret is in plain in the database or its files', async (t) => {
      const location = await emptyLocation(t, engine);
      const store = await openAt(location);
      await store.commit({ puts: [put('oidc', 'm1', { secrets: { client_secret: PLANTED } })] });
      await store.commit({ puts: [put('oidc', 'm1', { secrets: { client_secret: `${PLANTED}-2` } })] });
      await feedLogin(store, 'as_1', { secrets: { refresh_token: PLANTED } });
      await store.logins.replaceTokens('as_1', 1, { doc: {}, secrets: { refresh_token: `${PLANTED}-2` } });
      assert.ok(!(await dump(location)).includes(PLANTED));
      for (const file of readdirSync(location.dataDir)) {
        assert.ok(!readFileSync(join(location.dataDir, file)).includes(PLANTED), file);
        assert.equal(statSync(join(location.dataDir, file)).mode & 0o077, 0, `${file} is open to others`);
      }
      assert.equal(statSync(location.dataDir).mode & 0o077, 0);
    });

    test('a sealed secret that was moved to another row does not open there', async (t) => {
      const location = await emptyLocation(t, engine);
      const store = await openAt(location);
      await store.commit({
        puts: [put('oidc', 'm1', { secrets: { s: PLANTED } }), put('oidc', 'm2', { secrets: { s: 'own' } })],
      });
      await store.close();
      await querySql(
        location,
        "UPDATE records SET secrets = (SELECT secrets FROM records WHERE id = 'm1') WHERE id = 'm2'",
      );
      const again = await openAt(location);
      await assert.rejects(everything(again), { code: 'ERR_POSTERN_STORE_CORRUPT', message: /oidc\/m2/ });
    });

    test('rejects a wrong key at the start, and names it', async (t) => {
      const location = await emptyLocation(t, engine);
      const [right, wrong] = [newKey(), newKey()];
      await (await openAt(location, { secretKey: right })).close();
      await assert.rejects(
        openAt(location, { secretKey: wrong }),
        (error: Error & { details: Record<string, string> }) => {
          assert.equal((error as unknown as { code: string }).code, 'ERR_POSTERN_SECRET_KEY');
          assert.match(error.message, /POSTERN_SECRET_KEY/);
          assert.ok(error.message.includes(error.details['wanted_key_id'] ?? '-'));
          assert.ok(error.message.includes(error.details['given_key_id'] ?? '-'));
          assert.ok(!error.message.includes(right) && !error.message.includes(wrong));
          return true;
        },
      );
      // An older key after the comma still opens what it sealed.
      await (await openAt(location, { secretKey: `${wrong},${right}` })).close();
    });

    test('rejects a missing key file of an existing store, and never creates one', async (t) => {
      const location = await emptyLocation(t, engine);
      await (await openAt(location)).close();
      const keyFile = join(location.dataDir, 'secret.key');
      const key = readFileSync(keyFile);
      rmSync(keyFile);
      await assert.rejects(openAt(location), { ...SECRET_KEY_ERROR, message: /secret\.key/ });
      assert.ok(!readdirSync(location.dataDir).includes('secret.key'));
      writeFileSync(keyFile, key, { mode: 0o600 });
      await (await openAt(location)).close();
    });

    test('rejects a malformed key with a message', async (t) => {
      const location = await emptyLocation(t, engine);
      await assert.rejects(openAt(location, { secretKey: 'c2hvcnQ=' }), {
        ...SECRET_KEY_ERROR,
        message: /32 bytes.*decodes to 5/,
      });
      await assert.rejects(openAt(location, { secretKey: 'not base64!' }), {
        ...SECRET_KEY_ERROR,
        message: /other characters/,
      });
      // Nothing was created that would conflict with the right one.
      await (await openAt(location, { secretKey: newKey() })).close();
    });
  });
}

function newKey(): string {
  return randomBytes(32).toString('base64');
}

async function dump(location: StoreLocation): Promise<string> {
  const tables = await Promise.all(currentSchema.tables.map(({ name }) => querySql(location, `SELECT * FROM ${name}`)));
  return JSON.stringify(tables);
}
