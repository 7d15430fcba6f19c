import type { JsonValue } from '../../src/kit/json.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { querySql } from '../store/engines.ts';
import { eventProblems } from './event-checks.ts';

export type Row = Readonly<Record<string, string | number | null>>;

export interface ChangeRow {
  readonly revision: number;
  readonly kind: string;
  readonly id: string;
  /** The id; for a module, that of its edge or route. */
  readonly owner: string;
  readonly op: string;
}

export interface DatabaseCheckOptions {
  /** A subscription to every change event existed from this revision on. */
  readonly subscribedFrom: number;
  /** Events up to here were already checked. */
  readonly eventsCheckedTo?: number;
}

export interface DatabaseReport {
  readonly problems: readonly string[];
  readonly revision: number;
  readonly changes: readonly ChangeRow[];
}

const ID = /^[a-z]+_[0-9A-Za-z]{27}$/;

/** Inspects the tables directly, past the store: everything that one transaction writes must be there. */
export async function checkDatabase(location: StoreLocation, options: DatabaseCheckOptions): Promise<DatabaseReport> {
  const rows = async (sql: string) => (await querySql(location, sql)) as readonly Row[];
  const [counter] = await rows("SELECT value FROM counter WHERE name = 'revision'");
  const revision = Number(counter?.['value']);
  const changeRows = await rows('SELECT revision, position, kind, id, op FROM changes ORDER BY revision, position');
  const changes = changeRows.map((row) => ({
    revision: Number(row['revision']),
    kind: String(row['kind']),
    id: String(row['id']),
    owner: String(row['id']).split('.')[0] ?? '',
    op: String(row['op']),
  }));
  const records = await rows('SELECT kind, id, parent, revision, doc FROM records');
  const from = Math.max(options.subscribedFrom, options.eventsCheckedTo ?? 0);
  const events = await rows(`SELECT type, revision, payload FROM events WHERE revision > ${from} ORDER BY revision`);
  const problems = [
    ...gapProblems(changes, revision),
    ...foldProblems(changes, records),
    ...treeProblems(records),
    ...referenceProblems(records, await rows('SELECT from_kind, from_id, to_kind, to_id FROM record_references')),
    ...uniqueKeyProblems(records, await rows('SELECT scope, key, kind, id FROM unique_keys')),
    ...idempotencyProblems(changes, await rows('SELECT kind, id FROM idempotency')),
    ...eventProblems(changes, events, from),
    ...(location.engine === 'sqlite' ? integrityProblems(await rows('PRAGMA integrity_check')) : []),
  ];
  return { problems, revision, changes };
}

function gapProblems(changes: readonly ChangeRow[], revision: number): string[] {
  const found = [...new Set(changes.map((change) => change.revision))];
  const wrong = found.findIndex((each, at) => each !== at + 1);
  if (wrong !== -1) return [`revisions have a gap: ${found[wrong]} stands where ${wrong + 1} should be`];
  return found.length === revision ? [] : [`the counter stands at ${revision}, the changes end at ${found.length}`];
}

/** The replayed change feed gives the records, each with the revision of its last change. */
function foldProblems(changes: readonly ChangeRow[], records: readonly Row[]): string[] {
  const folded = new Map<string, number>();
  for (const { kind, id, op, revision } of changes) {
    if (op === 'delete') folded.delete(`${kind} ${id}`);
    else folded.set(`${kind} ${id}`, revision);
  }
  const problems: string[] = [];
  for (const row of records) {
    const key = keyOf(row);
    const last = folded.get(key);
    if (last === undefined) problems.push(`${key} exists, but the changes do not have it`);
    else if (last !== Number(row['revision']))
      problems.push(`${key} has revision ${String(row['revision'])}, and by the changes ${last}`);
    folded.delete(key);
  }
  for (const key of folded.keys()) problems.push(`${key} is missing, but the changes have it`);
  return problems;
}

function treeProblems(records: readonly Row[]): string[] {
  const ids = new Set(records.map((row) => row['id']));
  const needsParent = (row: Row) => /\.|_route$|_rule$/.test(String(row['kind']));
  return records
    .filter((row) => (row['parent'] === null ? needsParent(row) : !ids.has(row['parent'])))
    .map((row) => `${keyOf(row)} has lost its parent ${String(row['parent'])}`);
}

/** Every id inside a document is a reference, has its row, and leads to a record. */
function referenceProblems(records: readonly Row[], references: readonly Row[]): string[] {
  const existing = new Set(records.map(keyOf));
  const ids = new Set(records.map((row) => row['id']));
  const written = new Set(references.map((row) => `${row['from_kind']} ${row['from_id']} → ${row['to_id']}`));
  const problems: string[] = [];
  for (const row of references) {
    const name = `reference ${row['from_kind']} ${row['from_id']} → ${row['to_kind']} ${row['to_id']}`;
    if (!existing.has(`${row['from_kind']} ${row['from_id']}`)) problems.push(`${name} comes from nowhere`);
    if (!existing.has(`${row['to_kind']} ${row['to_id']}`)) problems.push(`${name} leads nowhere`);
  }
  for (const row of records) {
    for (const id of idsIn(JSON.parse(String(row['doc'])) as JsonValue)) {
      const name = `${keyOf(row)} → ${id}`;
      if (!ids.has(id)) problems.push(`${name} leads nowhere`);
      else if (!written.delete(name)) problems.push(`${name} has no reference row`);
    }
  }
  for (const name of written) problems.push(`${name} is no longer in its document`);
  return problems;
}

function idsIn(value: JsonValue): Set<string> {
  if (typeof value === 'string') return new Set(ID.test(value) ? [value] : []);
  if (value === null || typeof value !== 'object') return new Set();
  const inside = Array.isArray(value)
    ? value
    : [...Object.values(value), ...Object.keys(value).map((name): JsonValue => name)];
  return new Set(inside.flatMap((each) => [...idsIn(each as JsonValue)]));
}

/** Hosts of edges and paths of routes, derived from the documents; the other scopes only need an owner. */
function uniqueKeyProblems(records: readonly Row[], uniqueKeys: readonly Row[]): string[] {
  const wanted = new Set(records.flatMap(expectedUniqueKeys));
  const existing = new Set(records.map(keyOf));
  const problems: string[] = [];
  for (const row of uniqueKeys) {
    const name = `${row['scope']} ${row['key']} of ${keyOf(row)}`;
    if (!existing.has(keyOf(row))) problems.push(`unique key ${name} has no owner`);
    else if (row['scope'] === 'edge_host' || row['scope'] === 'route_match') {
      if (!wanted.delete(name)) problems.push(`unique key ${name} is not in its document`);
    }
  }
  for (const name of wanted) problems.push(`unique key ${name} is missing`);
  return problems;
}

function expectedUniqueKeys(row: Row): string[] {
  const doc = JSON.parse(String(row['doc'])) as Record<string, string | readonly string[]>;
  if (row['kind'] === 'https_edge') {
    const hosts = (doc['hostports'] as readonly string[]).map((each) => each.slice(0, each.lastIndexOf(':')));
    return hosts.map((host) => `edge_host ${host} of ${keyOf(row)}`);
  }
  if (row['kind'] !== 'https_edge_route') return [];
  return [`route_match ${row['parent']}\n${String(doc['match_type'])} ${String(doc['match'])} of ${keyOf(row)}`];
}

/** The key of a create is written with what it creates. */
function idempotencyProblems(changes: readonly ChangeRow[], rows: readonly Row[]): string[] {
  const made = new Set(changes.filter(({ op }) => op === 'put').map(({ kind, id }) => `${kind} ${id}`));
  return rows.filter((row) => !made.has(keyOf(row))).map((row) => `an Idempotency-Key names ${keyOf(row)}, never made`);
}

function integrityProblems(rows: readonly Row[]): string[] {
  const words = rows.map((row) => String(row['integrity_check']));
  return words.length === 1 && words[0] === 'ok' ? [] : words.map((each) => `integrity_check: ${each}`);
}

function keyOf(row: Row): string {
  return `${String(row['kind'])} ${String(row['id'])}`;
}
