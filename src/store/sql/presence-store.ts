import type { Lease, LeaseKind, PageQuery, PresenceStore } from '../store.ts';
import { parseObject } from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';
import {
  type CallerTime,
  clockShift,
  insertRows,
  integer,
  type Program,
  pageStatement,
  queryForTuples,
  queryOne,
  type Row,
  statement,
  type TimeAt,
  text,
  textOrNull,
} from './statement.ts';

export interface LeaseRow extends Omit<Lease, 'doc'> {
  readonly doc: string;
}

export interface LeaseKey {
  readonly kind: LeaseKind;
  readonly id: string;
}

const LEASE_COLUMNS = ['kind', 'id', 'parent', 'credential_id', 'boot_id', 'expires_at_ms', 'doc'];

function leaseOf(row: Row): LeaseRow {
  return {
    kind: text(row, 'kind') as LeaseKind,
    id: text(row, 'id'),
    parent: textOrNull(row, 'parent'),
    credentialId: textOrNull(row, 'credential_id'),
    bootId: text(row, 'boot_id'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    doc: text(row, 'doc'),
  };
}

function* putLeases(leases: readonly LeaseRow[], time: CallerTime): Program<void> {
  const shiftMs = yield* clockShift(time);
  // PostgreSQL rejects an upsert that affects one row twice; the last one counts.
  const distinct = new Map(leases.map((lease) => [`${lease.kind}\0${lease.id}`, lease]));
  yield* insertRows(
    'leases',
    LEASE_COLUMNS,
    [...distinct.values()].map(({ kind, id, parent, credentialId, bootId, expiresAtMs, doc }) => [
      kind,
      id,
      parent,
      credentialId,
      bootId,
      expiresAtMs + shiftMs,
      doc,
    ]),
    `ON CONFLICT (kind, id) DO UPDATE SET parent = excluded.parent, credential_id = excluded.credential_id,
      boot_id = excluded.boot_id, expires_at_ms = excluded.expires_at_ms, doc = excluded.doc`,
  );
}

function* renewLeases(bootId: string, expiresAtMs: number, time: CallerTime): Program<void> {
  const shiftMs = yield* clockShift(time);
  yield statement('UPDATE leases SET expires_at_ms = ? WHERE boot_id = ?', [expiresAtMs + shiftMs, bootId]);
}

function* removeLeases(keys: readonly LeaseKey[]): Program<void> {
  yield* queryForTuples(
    'DELETE FROM leases WHERE (kind, id) IN (VALUES %s)',
    keys.map(({ kind, id }) => [kind, id]),
  );
}

function* removeLeasesByCredential(credentialId: string): Program<string[]> {
  const rows = yield statement(
    `WITH RECURSIVE gone (kind, id) AS (
      SELECT kind, id FROM leases WHERE kind = 'tunnel_session' AND credential_id = ?
      UNION SELECT child.kind, child.id FROM leases child JOIN gone ON child.parent = gone.id
    )
    SELECT kind, id FROM gone`,
    [credentialId],
  );
  yield* removeLeases(rows.map((row) => ({ kind: text(row, 'kind') as LeaseKind, id: text(row, 'id') })));
  return rows
    .filter((row) => row['kind'] === 'tunnel_session')
    .map((row) => text(row, 'id'))
    .sort();
}

function* removeLeasesOfOtherBoots(bootId: string): Program<void> {
  yield statement('DELETE FROM leases WHERE boot_id <> ?', [bootId]);
}

export function* pruneLeases(time: CallerTime): Program<void> {
  const shiftMs = yield* clockShift(time);
  yield statement('DELETE FROM leases WHERE expires_at_ms <= ?', [time.nowMs + shiftMs]);
}

function* getLease(kind: LeaseKind, id: string, time: CallerTime): Program<LeaseRow | null> {
  const nowMs = time.nowMs + (yield* clockShift(time));
  const row = yield* queryOne(
    `SELECT ${LEASE_COLUMNS.join(', ')} FROM leases WHERE kind = ? AND id = ? AND expires_at_ms > ?`,
    [kind, id, nowMs],
  );
  return row === null ? null : leaseOf(row);
}

function* listLeases(kind: LeaseKind, query: PageQuery, time: CallerTime): Program<LeaseRow[]> {
  const nowMs = time.nowMs + (yield* clockShift(time));
  const rows = yield pageStatement(
    `SELECT ${LEASE_COLUMNS.join(', ')} FROM leases`,
    [
      { sql: 'kind = ?', param: kind },
      { sql: 'expires_at_ms > ?', param: nowMs },
    ],
    query,
  );
  return rows.map(leaseOf);
}

/** What presence asks of the engine. */
export const presencePrograms = {
  putLeases,
  renewLeases,
  removeLeases,
  removeLeasesByCredential,
  removeLeasesOfOtherBoots,
  getLease,
  listLeases,
} as const;

export function createPresenceStore(engine: SqlEngine<typeof presencePrograms>, timeAt: TimeAt): PresenceStore {
  return {
    put: (leases) => engine.write('putLeases', leases.map(rowOf), timeAt()),
    renew: (bootId, expiresAtMs) => engine.write('renewLeases', bootId, expiresAtMs, timeAt()),
    remove: (keys) => engine.write('removeLeases', keys),
    removeByCredential: (credentialId) => engine.write('removeLeasesByCredential', credentialId),
    removeOtherBoots: (bootId) => engine.write('removeLeasesOfOtherBoots', bootId),
    onReset: (relist) => engine.history.onReset(relist),
    get: async (kind, id, nowMs) => {
      const row = await engine.read('getLease', kind, id, timeAt(nowMs));
      return row === null ? null : openLease(row);
    },
    list: async (kind, query) => (await engine.read('listLeases', kind, query, timeAt(query.nowMs))).map(openLease),
  };
}

function rowOf(lease: Lease): LeaseRow {
  return { ...lease, doc: JSON.stringify(lease.doc) };
}

function openLease(row: LeaseRow): Lease {
  return { ...row, doc: parseObject(row.doc) };
}
