import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { Replica } from '../../src/store/replica/replica.ts';
import { isCompatible, versionsBeside } from '../../src/store/sql/schema/migrate.ts';
import { currentSchema } from '../../src/store/sql/schema/migrations.ts';
import { lockAsSuccessor, lockDirectory } from '../../src/store/sqlite/directory-lock.ts';
import type { Store } from '../../src/store/store.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';
import { introspect, ordered } from './introspect.ts';
import { nextStore } from './next-store.ts';
import { spawnStore } from './spawn-store.ts';

usePostgres();

const IN_USE = { code: 'ERR_POSTERN_STORE_IN_USE' };

test('two processes on one database both write, and each follows the other', async (t) => {
  const { location, owner, successor } = await handover(t);
  const replicas = await Promise.all([Replica.open(owner), Replica.open(successor)]);
  t.after(() => {
    for (const replica of replicas) replica.close();
  });
  assert.ok(owner.sharing.isShared && successor.sharing.isShared);
  const ids = Array.from({ length: 40 }, (_, n) => `e${n}`);
  const results = await Promise.all(
    ids.map((id, n) => committed(n % 2 === 0 ? owner : successor, { puts: [put('edge', id)] })),
  );
  assert.equal(new Set(results.map(({ revision }) => revision)).size, ids.length);
  for (const replica of replicas) while (replica.revision < ids.length) await sleep(5);
  for (const replica of replicas) assert.equal(replica.count('edge'), ids.length);
  await owner.close();
  await successor.sharing.own();
  assert.equal(successor.sharing.isShared, false);
  assert.equal(readFileSync(join(location.dataDir, 'postern.pid'), 'utf8'), `${process.pid}\n`);
  await committed(successor, { puts: [put('edge', 'after')] });
});

test('nobody else gets the data directory at any step of a handover', async (t) => {
  const { dataDir } = await emptyLocation(t, 'sqlite');
  const owner = lockDirectory(dataDir);
  const successor = lockAsSuccessor(dataDir);
  assert.throws(() => lockAsSuccessor(dataDir), IN_USE);
  assert.throws(() => lockDirectory(dataDir), IN_USE);
  owner.release();
  // The moment between the exit of the owner and the successor's next step.
  assert.throws(() => lockDirectory(dataDir), IN_USE);
  await successor.own();
  assert.throws(() => lockDirectory(dataDir), IN_USE);
  const next = lockAsSuccessor(dataDir);
  next.release();
  successor.release();
  lockDirectory(dataDir).release();
});

test('a successor that gives up leaves the store to its owner', async (t) => {
  const { location, owner, successor } = await handover(t);
  await committed(successor, { puts: [put('edge', 'e1')] });
  await successor.close();
  owner.sharing.end();
  await committed(owner, { puts: [put('edge', 'e2')] });
  assert.deepEqual(await idsIn(owner), ['e1', 'e2']);
  await assert.rejects(openAt(location), IN_USE);
});

test('kill -9 of a successor under load loses no acknowledged write', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const owner = await openAt(location);
  owner.sharing.begin();
  const successor = spawnStore(t, location, 'take-over', await owner.mark());
  await successor.line('ok');
  const own: string[] = [];
  for (let n = 0; n < 50; n += 1) {
    await committed(owner, { puts: [put('edge', `own-${n}`)] });
    own.push(`own-${n}`);
  }
  await successor.killed();
  await committed(owner, { puts: [put('edge', 'own-last')] });
  const acknowledged = successor.output
    .filter((line) => line.startsWith('ok '))
    .map((line) => line.split(' ')[1] ?? '');
  const found = new Set(await idsIn(owner));
  for (const id of [...own, 'own-last', ...acknowledged]) assert.ok(found.has(id), id);
  assert.ok(acknowledged.length > 0);
});

test('a successor of the next version migrates beside the owner, if it only adds to the tables', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const owner = await openAt(location);
  owner.sharing.begin();
  await assert.rejects((await nextStore('breaking')).openAt(location, { takesOverAt: await owner.mark() }), {
    code: 'ERR_POSTERN_STORE_OLD_NODES',
    message: /stop it, then start this version/,
  });
  await committed(owner, { puts: [put('edge', 'after the refusal')] });
  const next = await nextStore('additive');
  const successor = await next.openAt(location, { takesOverAt: await owner.mark() });
  assert.deepEqual(await introspect(location), ordered(next.schema));
  for (const [at, store] of [owner, successor, owner].entries())
    await committed(store, { puts: [put('edge', `by both ${at}`)] });
  assert.deepEqual(await idsIn(successor), await idsIn(owner));
});

test('only migrations that name the running schema run beside it', () => {
  const steps = [] as const;
  assert.ok(isCompatible(7, [{ version: 8, compatibleFrom: 7, steps }]));
  assert.ok(!isCompatible(7, [{ version: 8, steps }]));
  assert.ok(!isCompatible(7, [{ version: 8, compatibleFrom: 8, steps }]));
  assert.ok(
    !isCompatible(7, [
      { version: 8, compatibleFrom: 7, steps },
      { version: 9, steps },
    ]),
  );
  assert.ok(isCompatible(9, [{ version: 9, steps }]));
  assert.deepEqual(versionsBeside(8, [{ version: 9, compatibleFrom: 7, steps }]), [7, 8, 9]);
  assert.deepEqual(versionsBeside(7, [{ version: 8, steps }]), [8]);
  assert.deepEqual(versionsBeside(8, [{ version: 8, steps }]), [8]);
});

for (const engine of ENGINES) {
  test(`${engine}: a server goes on after a newer one has only added to the tables`, async (t) => {
    const location = await emptyLocation(t, engine);
    let store = await openAt(location, { pollIntervalMs: 50, probeIntervalMs: 50 });
    const newer = currentSchema.version + 1;
    await setVersion(location, newer, `${newer} ${currentSchema.version}`);
    await committed(store, { puts: [put('edge', 'e1')] });
    assert.equal(store.health().state, 'ok');
    await store.close();
    store = await openAt(location, { pollIntervalMs: 50, probeIntervalMs: 50 });
    await committed(store, { puts: [put('edge', 'started again')] });
    // A row about another version says nothing about this one.
    await setVersion(location, newer + 1, `${newer} ${currentSchema.version}`);
    await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), { code: 'ERR_POSTERN_STORE_TOO_NEW' });
    await setVersion(location, newer + 1, `${newer + 1} ${newer}`);
    await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), { code: 'ERR_POSTERN_STORE_TOO_NEW' });
  });
}

for (const engine of ENGINES) {
  test(`${engine}: a successor refuses another store, a copy and an older state, and changes none of them`, async (t) => {
    const [location, empty, other] = await Promise.all([1, 2, 3].map(() => emptyLocation(t, engine)));
    assert.ok(location && empty && other);
    const owner = await openAt(location);
    await committed(owner, { puts: [put('edge', 'e1')] });
    const mark = await owner.mark();
    const stranger = await openAt(other);
    await committed(stranger, { puts: [put('edge', 'e1')] });
    for (const [wrong, takesOverAt] of [
      [empty, mark],
      [other, mark],
      // What the store has lost, or a commit that was made after a copy.
      [location, { ...mark, number: mark.number + 1 }],
      [location, { ...mark, id: 'another history' }],
    ] as const) {
      await assert.rejects(openAt(wrong, { takesOverAt }), {
        code: /^ERR_POSTERN_STORE_(WENT_BACK|CORRUPT)$/,
        message: /does not contain it|is missing/,
      });
    }
    const tables =
      engine === 'sqlite'
        ? existsSync(join(empty.dataDir, 'postern.sqlite'))
        : (await querySql(empty, "SELECT 1 FROM pg_tables WHERE tablename = 'meta'")).length > 0;
    assert.equal(tables, false);
    const second = await owner.mark();
    assert.ok(second.number > mark.number && second.id !== mark.id);
    const successor = await openAt(location, { takesOverAt: second });
    await committed(successor, { puts: [put('edge', 'e2')] });
  });
}

async function handover(t: TestContext): Promise<{ location: StoreLocation; owner: Store; successor: Store }> {
  const location = await emptyLocation(t, 'sqlite');
  const owner = await openAt(location);
  owner.sharing.begin();
  return { location, owner, successor: await openAt(location, { takesOverAt: await owner.mark() }) };
}

async function idsIn(store: Store): Promise<readonly string[]> {
  return (await everything(store)).records.map(({ id }) => id);
}

/** In this order: a poll between the two must not find a newer version alone. */
async function setVersion(location: StoreLocation, version: number, compatibleFrom: string): Promise<void> {
  await querySql(location, `UPDATE meta SET value = '${compatibleFrom}' WHERE name = 'compatible_from'`);
  await querySql(location, `UPDATE meta SET value = '${version}' WHERE name = 'schema_version'`);
}
