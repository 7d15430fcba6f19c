import { backedUpTables } from '../../src/store/backup/backup-format.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { currentSchema } from '../../src/store/sql/schema/migrations.ts';
import type { Store } from '../../src/store/store.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { committed, put } from './conformance/store-under-test.ts';
import { querySql } from './engines.ts';

/** More rows than the batch of a backup has. */
export const MORE_THAN_A_BATCH = 1_200;

/** Data in every table, and text with unusual line ends. */
export async function fill(store: Store, rows = MORE_THAN_A_BATCH): Promise<void> {
  const backends = Array.from({ length: rows }, (_, at) =>
    put('backend', `b${at}`, {
      doc: { at, text: 'line\u2028end\nof "text" ü' },
      secrets: at % 3 === 0 ? { token: `secret-${at}` } : null,
    }),
  );
  await committed(store, { puts: backends });
  await committed(store, {
    puts: [
      put('edge', 'e1', { uniqueKeys: [{ scope: 'hostport', key: 'a:443' }] }),
      put('route', 'r1', { parent: 'e1', references: [{ field: 'backend_id', to: { kind: 'backend', id: 'b1' } }] }),
    ],
    events: [{ id: 'ev_1', type: 'edge_created.v0', createdAtMs: 1, payload: { id: 'e1' } }],
    idempotency: { scope: 'h', bodyHash: 'b', kind: 'edge', id: 'e1', createdAtMs: Date.now() },
  });
  await committed(store, { deletes: [{ kind: 'backend', id: 'b0' }] });
  await feedLogin(store, 'as_1', { userDoc: { name: 'one' }, secrets: { refresh_token: 'secret-s' } });
  await store.deliveries.put([
    {
      id: 'd1',
      subscriptionId: 'es_1',
      destinationId: 'ed_1',
      state: 'dead',
      attempts: [],
      createdAtMs: 1,
      nextAttemptAtMs: null,
      event: { id: 'ev_1', type: 'x', createdAtMs: 1, payload: {} },
    },
  ]);
  await store.presence.put([
    { kind: 'tunnel', id: 'tn_1', parent: null, credentialId: null, bootId: 'b', expiresAtMs: 9e12, doc: {} },
  ]);
}

/** 207 rows with secrets: one batch of the rotation, a second that is not full, a session, and one of a person. */
export async function fillSecrets(store: Store): Promise<void> {
  const puts = Array.from({ length: 205 }, (_, at) =>
    put('oidc', `o${at}`, { secrets: { client_secret: `secret-${at}` } }),
  );
  await committed(store, { puts: [...puts, put('edge', 'e1'), put('user_account', 'ua_1')] });
  await feedLogin(store, 'as_1', { secrets: { refresh_token: 'secret-s' } });
  await store.identity.beginSession(
    {
      model: 'Session',
      id: 'cookie',
      accountId: 'ua_1',
      grantId: null,
      sessionUid: 's1',
      application: null,
      payload: { uid: 's1' },
      expiresAtMs: Date.UTC(2100, 0, 1),
    },
    { kind: 'user_account', id: 'ua_1' },
  );
}

/** Every row of every table in a backup, as the database returns it. */
export async function contents(location: StoreLocation): Promise<Record<string, unknown[]>> {
  const tables = await Promise.all(
    backedUpTables(currentSchema).map(async ({ name, primaryKey }) => {
      const rows = await querySql(location, `SELECT * FROM ${name} ORDER BY ${primaryKey.join(', ')}`);
      return [name, rows.map((row) => JSON.stringify(Object.values(row).map(String)))] as const;
    }),
  );
  return Object.fromEntries(tables);
}
