import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { backupStore } from '../../src/store/backup/backup-store.ts';
import { restoreStore } from '../../src/store/backup/restore-store.ts';
import { sealedKeyId } from '../../src/store/keyring.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { rotateKey } from '../../src/store/rotate-key.ts';
import { committed, put } from '../store/conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from '../store/engines.ts';
import { startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

usePostgres();

const PASSPHRASE = 'correct horse';
const OIDC = { issuer: 'https://accounts.example.com', client_id: 'id', client_secret: 'first-secret' };

for (const engine of ENGINES) {
  suite(`the history on ${engine}`, () => {
    test('outlives a backup, a restore and a rotated key, with the secrets of earlier versions', async (t) => {
      const location = await emptyLocation(t, engine);
      const first = await openWorld(t, location);
      const { oidcPath, revision } = await furnish(first);
      await linked(first);
      const before = await historyOf(first);
      const file = join(await tempDir(t), 'backup');
      await backupStore({ source: location, file, withKey: { passphrase: PASSPHRASE } });
      await first.close();

      const target = await emptyLocation(t, engine);
      await restoreStore({ target, file, passphrase: PASSPHRASE, replace: false });
      const [oldKeyId] = await sealingKeyIds(target);
      const { keyId } = await rotateKey({ target });
      assert.notEqual(keyId, oldKeyId);
      assert.deepEqual(await sealingKeyIds(target), [keyId]);
      const again = await openWorld(t, target);
      assert.deepEqual(await historyOf(again), before);
      assert.deepEqual(await verified(again), {
        intact: true,
        checked: before.length,
        unlinked: 0,
        first_broken: null,
      });
      const undone = await again.api('POST', `/changes/${revision}/undo`, {});
      assert.equal(undone.status, 200, undone.text);
      assert.equal((await again.api('GET', oidcPath)).body.client_secret, OIDC.client_secret);
    });

    test('stays verifiable from the newest pruned entry on', async (t) => {
      const location = await emptyLocation(t, engine);
      const world = await openWorld(t, location);
      for (let count = 0; count < 8; count += 1) await world.api('POST', '/ip_policies', {});
      await linked(world);
      const all = await revisionsOf(world);
      const [second, first] = all.slice(-2);
      // The clock was set back: the second entry seems to be old, and the first one does not.
      await querySql(location, `UPDATE history SET at_ms = 1 WHERE revision = ${second}`);
      assert.equal(await world.store.history.prune(2, 100), 0);
      await querySql(
        location,
        `UPDATE history SET at_ms = (SELECT at_ms FROM history WHERE revision = ${first}) WHERE revision = ${second}`,
      );
      assert.equal(await world.store.history.prune(0, 3), all.length - 3);
      assert.equal(await world.store.history.prune(0, 3), 0);
      assert.deepEqual(await revisionsOf(world), all.slice(0, 3));
      assert.deepEqual(await verified(world), { intact: true, checked: 3, unlinked: 0, first_broken: null });
      assert.equal((await world.api('GET', `/changes/${first}`)).status, 404);
      await world.api('POST', '/ip_policies', {});
      await linked(world);
      assert.deepEqual(await verified(world), { intact: true, checked: 4, unlinked: 0, first_broken: null });
      await querySql(location, `DELETE FROM history WHERE revision = ${all[2]}`);
      assert.deepEqual(await verified(world), { intact: false, checked: 0, unlinked: 0, first_broken: all[1] });
    });

    test('links what an earlier process left without a link', async (t) => {
      const location = await emptyLocation(t, engine);
      const store = await openAt(location);
      for (const id of ['one', 'two']) {
        await committed(store, { puts: [put('ip_policy', id)], note: { author: { id: '' }, message: id } });
      }
      await store.close();
      const world = await openWorld(t, location);
      await linked(world);
      const { length } = await revisionsOf(world);
      assert.ok(length >= 2);
      assert.deepEqual(await verified(world), { intact: true, checked: length, unlinked: 0, first_broken: null });
    });
  });
}

test('keeps and links every answered change when the server is killed before it links them', async (t) => {
  const dataDir = await tempDir(t);
  const env = { POSTERN_ROLES: 'api', POSTERN_API_KEY: TEST_API_KEY };
  const server = startServerProcess(t, dataDir, { env });
  const { base_url: baseUrl } = await server.ready();
  const headers = {
    authorization: `Bearer ${TEST_API_KEY}`,
    'service-version': '2',
    'content-type': 'application/json',
  };
  const revisions: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const answer = await fetch(`${baseUrl}/ip_policies`, { method: 'POST', headers, body: '{}' });
    assert.equal(answer.status, 201);
    revisions.unshift(Number(answer.headers.get('postern-revision')));
  }
  server.child.kill('SIGKILL');
  await server.exited;
  const world = await TestWorld.open(t, { dataDir });
  await linked(world);
  const kept = await revisionsOf(world);
  assert.deepEqual(kept.slice(0, 5), revisions);
  assert.deepEqual(await verified(world), { intact: true, checked: kept.length, unlinked: 0, first_broken: null });
});

function openWorld(t: TestContext, location: StoreLocation): Promise<TestWorld> {
  const { dataDir } = location;
  return TestWorld.open(t, location.engine === 'sqlite' ? { dataDir } : { dataDir, databaseUrl: location.url });
}

/** A route whose login got another secret. */
async function furnish(world: TestWorld) {
  const edge = await world.api('POST', '/edges/https', { hostports: ['kept.example.com:443'] });
  const routes = `/edges/https/${edge.body.id}/routes`;
  const route = await world.api('POST', routes, { match: '/', match_type: 'path_prefix', oidc: OIDC });
  const oidcPath = `${routes}/${route.body.id}/oidc`;
  const { headers } = await world.api('PUT', oidcPath, { ...OIDC, client_secret: 'second-secret' });
  return { oidcPath, revision: headers.get('postern-revision') };
}

async function revisionsOf(world: TestWorld): Promise<readonly number[]> {
  const { body } = await world.api('GET', '/changes');
  return body.changes.map(({ revision }: { revision: number }) => revision);
}

async function historyOf(world: TestWorld): Promise<readonly unknown[]> {
  const revisions = await revisionsOf(world);
  return Promise.all(revisions.map(async (revision) => (await world.api('GET', `/changes/${revision}`)).text));
}

async function verified(world: TestWorld): Promise<unknown> {
  return (await world.api('GET', '/changes/verification')).body;
}

async function linked(world: TestWorld): Promise<void> {
  while ((await world.store.history.unlinked(1)).entries.length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Ids of the keys that seal the secrets of the history. */
async function sealingKeyIds(location: StoreLocation): Promise<readonly string[]> {
  const rows = await querySql(
    location,
    `SELECT before_secrets AS sealed FROM history_items WHERE before_secrets IS NOT NULL
      UNION ALL SELECT after_secrets FROM history_items WHERE after_secrets IS NOT NULL`,
  );
  assert.ok(rows.length > 2);
  return [...new Set(rows.map(({ sealed }) => sealedKeyId(String(sealed))))];
}
