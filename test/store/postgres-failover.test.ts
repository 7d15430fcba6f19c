import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { Replica } from '../../src/store/replica/replica.ts';
import type { Store } from '../../src/store/store.ts';
import { freePortsOn, ownAddresses } from '../support/cluster/own-addresses.ts';
import { Wire } from '../support/cluster/wire.ts';
import { startOwnPostgres } from '../support/own-postgres.ts';
import { execute, freshDatabase, startPostgres } from '../support/postgres.ts';
import { tempDir } from '../support/temp-dir.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';

const DEADLINE_MS = 30_000;

suite('several servers in the URL', async () => {
  const dataDir = join(await tempDir({ after }), 'data');
  const primary = await startOwnPostgres();
  after(() => primary.close());
  const database = await freshDatabase(primary);
  const standby = await primary.addStandby();
  const [first, second] = [new URL(standby.url).host, new URL(primary.url).host];
  const { pathname } = new URL(database.url);
  /** The standby comes first: a driver that takes the first that answers would read there and fail to write. */
  const url = `postgres://postgres@${first},${second}${pathname}`;
  const open = (address = url): Promise<Store> => openPostgresStore({ url: address, dataDir, secretKey: null });
  const stores = await Promise.all([open(), open()]);
  const [store, other] = stores as [Store, Store];
  const replica = await Replica.open(other);
  after(async () => {
    replica.close();
    await Promise.all(stores.map((each) => each.close()));
  });

  test('a standby is passed over, and writes and notifications go to the primary', async () => {
    await committed(store, { puts: [put('edge', 'before')] });
    await until(() => replica.get('edge', 'before') !== undefined, 'the other store did not hear of it');
    assert.equal(store.health().state, 'ok');
  });

  test('with target_session_attrs=read-write a single standby is refused, by name', async () => {
    await standby.untilCaughtUp();
    await assert.rejects(open(`postgres://postgres@${first}${pathname}?target_session_attrs=read-write`), {
      code: 'ERR_POSTERN_STORE_READ_ONLY',
      message: /it is a standby/,
    });
  });

  test('while no server can be written, writes get a clear error that names each server', async () => {
    await standby.untilCaughtUp();
    await primary.end('SIGKILL');
    // The first write may still find the connection that was lost.
    await assert.rejects(committed(store, { puts: [put('edge', 'never')] }));
    await assert.rejects(committed(store, { puts: [put('edge', 'never')] }), {
      code: 'ERR_POSTERN_STORE_READ_ONLY',
      message: new RegExp(
        `no server in POSTERN_DATABASE_URL accepts writes \\((?=.*${second}: connect ECONNREFUSED).*${first}: it is a standby`,
      ),
    });
    assert.equal(store.health().state, 'degraded');
    assert.notEqual(replica.get('edge', 'before'), undefined, 'memory is served on');
  });

  test('after the promotion writes continue at the new primary, with everything from before', async () => {
    await standby.promote();
    await untilCommitted(store, 'after');
    await until(() => replica.get('edge', 'after') !== undefined, 'the other store did not follow');
    const { records } = await everything(store);
    assert.deepEqual(records.map(({ id }) => id).sort(), ['after', 'before']);
    assert.equal(store.stats().resets, 0, 'nothing was lost, so nothing is read again');
    await until(() => store.health().state === 'ok', 'the store did not recover');
  });

  test('the former primary comes back, and is not written to', async () => {
    await primary.start();
    await committed(store, { puts: [put('edge', 'still there')] });
    await until(() => replica.get('edge', 'still there') !== undefined, 'the other store did not follow');
    assert.equal(store.stats().resets, 0);
  });

  test('the former primary is not used while it accepts writes too, however connections to the new one end', async () => {
    for (let round = 0; round < 3; round += 1) {
      await endConnections(`${standby.url.replace(/postgres$/, '')}${pathname.slice(1)}`);
      await untilCommitted(store, `round ${round}`);
      await until(() => replica.get('edge', `round ${round}`) !== undefined, 'the other store did not follow');
    }
    assert.deepEqual([store.stats().resets, other.stats().resets], [0, 0]);
  });

  test('a store that is opened now uses the new primary, wherever the URL names it', async () => {
    const opened = await open(`postgres://postgres@${second},${first}${pathname}`);
    try {
      const { records } = await everything(opened);
      assert.ok(records.some(({ id }) => id === 'round 2'));
    } finally {
      await opened.close();
    }
  });

  test('while the new primary is read-only, the former one is not used instead, and the error says so', async () => {
    await setReadOnly(standby.url, 'on');
    const problem = new RegExp(`(?=.*${first}: it is a standby).*${second}: .*former primary.*timeline 1.*timeline 2`);
    // The first write still finds a connection.
    await assert.rejects(committed(store, { puts: [put('edge', 'never')] }), { code: 'ERR_POSTERN_STORE_READ_ONLY' });
    await assert.rejects(committed(store, { puts: [put('edge', 'never')] }), { message: problem });
    assert.equal(store.health().state, 'degraded');
    await setReadOnly(standby.url, 'off');
    await untilCommitted(store, 'back');
    await until(() => replica.get('edge', 'back') !== undefined, 'the other store did not follow');
    assert.notEqual(replica.get('edge', 'after'), undefined);
    assert.equal(store.stats().resets, 0);
  });
});

test('a primary that was replaced while it runs on is left, and what it took alone is forgotten', async (t) => {
  const dataDir = join(await tempDir(t), 'data');
  const primary = await startOwnPostgres();
  t.after(() => primary.close());
  const database = await freshDatabase(primary);
  const standby = await primary.addStandby();
  const [first, second] = [new URL(primary.url).host, new URL(standby.url).host];
  const url = `postgres://postgres@${first},${second}${new URL(database.url).pathname}`;
  const store = await openPostgresStore({ url, dataDir, secretKey: null });
  t.after(() => store.close());
  const replica = await Replica.open(store);
  t.after(() => replica.close());
  await committed(store, { puts: [put('edge', 'before')] });
  await standby.untilCaughtUp();
  await standby.promote();
  await committed(store, { puts: [put('edge', 'taken by the former primary')] });
  const beganMs = performance.now();
  await until(() => store.stats().resets === 1, 'it was not noticed');
  t.diagnostic(`noticed after ${Math.round(performance.now() - beganMs)} ms`);
  await untilCommitted(store, 'after');
  await until(() => replica.get('edge', 'after') !== undefined, 'the replica did not follow');
  assert.deepEqual([...replica.all('edge')].map(({ id }) => id).sort(), ['after', 'before']);
});

test('a primary whose machine is gone without a word does not hold up the writes for long', async (t) => {
  const dataDir = join(await tempDir(t), 'data');
  const primary = await startOwnPostgres();
  t.after(() => primary.close());
  const database = await freshDatabase(primary);
  const standby = await primary.addStandby();
  const { hostname: host, port } = new URL(primary.url);
  const [address = ''] = ownAddresses(1);
  const [wirePort = 0] = await freePortsOn(address, 1);
  const wire = await Wire.open(t, { host: address, port: wirePort }, { host, port: Number(port) });
  const url = `postgres://postgres@${address}:${wirePort},${new URL(standby.url).host}${new URL(database.url).pathname}`;
  const store = await openPostgresStore({ url, dataDir, secretKey: null });
  t.after(() => store.close());
  await committed(store, { puts: [put('edge', 'before')] });
  await standby.untilCaughtUp();
  wire.set('', 'black-hole');
  const waiting = store.commit({ puts: [put('edge', 'waiting')] }).catch((error: unknown) => error);
  await standby.promote();
  // As every node does several times a second, with short timeouts: it finds the new primary for all others.
  const node = { id: 'nd_1', status: 'ready', startedAtMs: 0, doc: {} } as const;
  const heartbeats = (async () => {
    while (!(await store.nodes.heartbeat(node, 1_500).catch(() => null))) await sleep(100);
  })();
  await heartbeats;
  const outcome = await waiting;
  assert.ok(!(outcome instanceof Error), String(outcome));
  await untilCommitted(store, 'after');
  const { records } = await everything(store);
  assert.deepEqual(records.map(({ id }) => id).sort(), ['after', 'before', 'waiting']);
});

test('a store closes although its database is gone without a word', async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const database = await freshDatabase(postgres);
  t.after(() => database.drop());
  const { hostname: host, port, pathname } = new URL(database.url);
  const [address = ''] = ownAddresses(1);
  const [wirePort = 0] = await freePortsOn(address, 1);
  const wire = await Wire.open(t, { host: address, port: wirePort }, { host, port: Number(port) });
  const url = `postgres://postgres@${address}:${wirePort}${pathname}`;
  const store = await openPostgresStore({ url, dataDir: join(await tempDir(t), 'data'), secretKey: null });
  wire.set('', 'black-hole');
  const lost = assert.rejects(store.commit({ puts: [put('edge', 'lost')] }), { code: 'ERR_POSTERN_STORE_UNAVAILABLE' });
  // Without a limit this would last until the operating system gives the connections up, which takes a quarter of an
  // hour.
  await store.close();
  await lost;
});

const AWAY: ReadonlySet<unknown> = new Set([
  'ERR_POSTERN_STORE_UNAVAILABLE',
  'ERR_POSTERN_STORE_READ_ONLY',
  'ERR_POSTERN_STORE_WENT_BACK',
]);

/** The server reads its configuration again some time after it was asked to. */
async function setReadOnly(url: string, value: 'on' | 'off'): Promise<void> {
  await execute(url, `ALTER SYSTEM SET default_transaction_read_only = ${value}`);
  await execute(url, 'SELECT pg_reload_conf()');
  const deadline = Date.now() + DEADLINE_MS;
  // Fails with "division by zero" until then.
  const sql = `SELECT 1 / (current_setting('default_transaction_read_only') = '${value}')::int`;
  while (
    !(await execute(url, sql).then(
      () => true,
      () => false,
    ))
  ) {
    assert.ok(Date.now() < deadline, 'the server did not read its configuration');
    await sleep(20);
  }
}

async function endConnections(url: string): Promise<void> {
  await execute(
    url,
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
}

async function untilCommitted(store: Store, id: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      await committed(store, { puts: [put('edge', id)] });
      return;
    } catch (error) {
      if (!AWAY.has((error as { readonly code?: string }).code) || Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

async function until(isTrue: () => boolean, otherwise: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!isTrue()) {
    assert.ok(Date.now() < deadline, otherwise);
    await sleep(20);
  }
}
