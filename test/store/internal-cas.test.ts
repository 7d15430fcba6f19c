import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { backupStore } from '../../src/store/backup/backup-store.ts';
import { restoreStore } from '../../src/store/backup/restore-store.ts';
import { rotateKey } from '../../src/store/rotate-key.ts';
import { EdgeWorld, trustIn } from '../support/edge-world.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';
import { emptyLocation, usePostgres } from './engines.ts';

usePostgres();

const noPassphrase = { passphrase: async () => null as never, replace: false };

/** Certificates that a server with an edge leaves in a data directory. */
async function casOf(t: TestContext, dataDir: string, options: Parameters<typeof EdgeWorld.open>[2] = {}, env = {}) {
  const world = await EdgeWorld.open(t, env, { dataDir, ...options });
  // A host of the CA for the domain and one of the other: both are actually served.
  for (const host of ['ca.localhost', 'ca.example.test']) {
    const site = await world.site(await world.httpResponse('here'), host).catch(() => null);
    if (site !== null) assert.equal(await world.status(host), 200);
  }
  await world.world.close();
  return [...trustIn(dataDir)].sort();
}

suite('internal CAs in the store', { concurrency: 2 }, () => {
  test('stay the same without their files and under another secret key, and no key is on the disk', async (t) => {
    const dataDir = await tempDir(t);
    const before = await casOf(t, dataDir);
    assert.deepEqual(await readdir(join(dataDir, 'internal-ca', 'other')), ['certificate.pem']);
    await rm(join(dataDir, 'internal-ca'), { recursive: true });
    assert.ok((await rotateKey({ target: { engine: 'sqlite', dataDir, secretKey: null } })).resealed >= 2);
    assert.deepEqual(await casOf(t, dataDir), before);
    for (const name of await readdir(dataDir)) {
      if (name.startsWith('postern.sqlite'))
        assert.ok(!readFileSync(join(dataDir, name)).includes('PRIVATE KEY'), name);
    }
  });

  test('a backup of SQLite restored to PostgreSQL keeps the CAs', async (t) => {
    const dataDir = await tempDir(t);
    const before = await casOf(t, dataDir);
    const file = join(await tempDir(t), 'postern.backup');
    await backupStore({ source: { engine: 'sqlite', dataDir, secretKey: null }, file });
    const target = await emptyLocation(t, 'postgres');
    assert.ok(target.engine === 'postgres');
    await mkdir(target.dataDir, { mode: 0o700 });
    await cp(join(dataDir, 'secret.key'), join(target.dataDir, 'secret.key'));
    await restoreStore({ target, file, ...noPassphrase });
    assert.equal(before.length, 2);
    assert.deepEqual(await casOf(t, target.dataDir, { databaseUrl: target.url }), before);
  });

  test('a backup without CAs, from the previous version, restores, and the server creates some', async (t) => {
    const dataDir = await tempDir(t);
    await (await TestWorld.open(t, { dataDir })).close();
    const file = join(await tempDir(t), 'postern.backup');
    await backupStore({ source: { engine: 'sqlite', dataDir, secretKey: null }, file });
    const target = await tempDir(t);
    await cp(join(dataDir, 'secret.key'), join(target, 'secret.key'));
    await restoreStore({ target: { engine: 'sqlite', dataDir: target, secretKey: null }, file, ...noPassphrase });
    const made = await casOf(t, target);
    assert.equal(made.length, 2);
    assert.deepEqual(await casOf(t, target), made);
  });

  test('two nodes that start together on one database have the same CAs', async (t) => {
    const { engine, ...location } = await emptyLocation(t, 'postgres');
    assert.ok(engine === 'postgres' && 'url' in location);
    const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
    const dataDirs = [await tempDir(t), await tempDir(t)];
    const nodes = await Promise.all(
      dataDirs.map((dataDir) => EdgeWorld.open(t, env, { dataDir, databaseUrl: location.url })),
    );
    const [one, other] = nodes.map(({ ca }) => [...ca].sort());
    assert.equal(one?.length, 2);
    assert.deepEqual(one, other);
    const [first, second] = nodes;
    assert.ok(first !== undefined && second !== undefined);
    const site = await first.site(await first.httpResponse('here'));
    await second.world.server.replica.refresh();
    for (const node of nodes) assert.equal(await node.status(site.host), 200);
  });
});
