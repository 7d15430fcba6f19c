import { randomUUID } from 'node:crypto';
import { storeErrors } from '../errors.ts';
import { isFollowable, schemaVersion, tooNew } from './schema/migrate.ts';
import { currentSchema } from './schema/migrations.ts';
import type { Dialect } from './schema/schema.ts';
import { execute, integer, integerOrNull, type Program, queryOne, type Row, text, textOrNull } from './statement.ts';

/**
 * A transaction of the store: its number, and a random id that no other history of the database has. A database that
 * failed over to a lagging standby, or was restored to an earlier time, reuses the numbers, but with other ids.
 */
export interface CommitMark {
  readonly number: number;
  readonly id: string;
}

export interface StorePosition {
  readonly revision: number;
  readonly commit: CommitMark;
}

/** How far back a process can prove its last commit. A process that was cut off for longer reads everything again. */
const KEPT_COMMITS = 100_000;

const POSITION = `SELECT newest.number AS number, newest.id AS id,
    (SELECT id FROM commits WHERE number = ?) AS seen_id,
    (SELECT min(number) FROM commits) AS oldest,
    (SELECT value FROM counter WHERE name = 'revision') AS revision,
    (SELECT value FROM meta WHERE name = 'schema_version') AS schema_version,
    (SELECT value FROM meta WHERE name = 'compatible_from') AS compatible_from
  FROM commits newest ORDER BY newest.number DESC LIMIT 1`;

/**
 * The current position of the store. Rejects a database that lacks the last commit seen by this process: then
 * everything this process knows may belong to a discarded history. Also rejects a schema that a newer version created
 * in the meantime, unless that only added to this one.
 */
export function* provePosition(seen: CommitMark): Program<StorePosition> {
  const row = yield* queryOne(POSITION, [seen.number]);
  if (row === null) throw wentBack(`it has no commits, but this process has seen commit ${seen.number} (${seen.id})`);
  const version = Number(text(row, 'schema_version'));
  const { version: known } = currentSchema;
  if (version > known && !isFollowable(version, textOrNull(row, 'compatible_from'), known)) throw tooNew(version);
  if (textOrNull(row, 'seen_id') !== seen.id) throw wentBack(differenceFrom(seen, row));
  return { revision: integer(row, 'revision'), commit: { number: integer(row, 'number'), id: text(row, 'id') } };
}

/** Whether the database lacks a commit that it must contain. */
export function* lacksCommit(seen: CommitMark): Program<boolean> {
  const row = yield* queryOne(POSITION, [seen.number]);
  if (row === null) return true;
  return textOrNull(row, 'seen_id') !== seen.id && seen.number >= (integerOrNull(row, 'oldest') ?? 0);
}

/**
 * For a process that takes over: rejects a database other than the one whose server hands over, before it is changed.
 */
export function* refuseOtherStore(dialect: Dialect, mark: CommitMark): Program<void> {
  if ((yield* schemaVersion(dialect)) > 0 && !(yield* lacksCommit(mark))) return;
  throw storeErrors.create(
    'ERR_POSTERN_STORE_WENT_BACK',
    `this process was started to take over a store with commit ${mark.number} (${mark.id}), and the store that it opened does not contain it: the database or its log was removed or replaced, or the settings name another database. A handover keeps the store. Put the files or settings back; or stop the server, and start it with the other store`,
  );
}

function differenceFrom(seen: CommitMark, row: Row): string {
  const mine = `this process has seen commit ${seen.number} (${seen.id})`;
  const other = textOrNull(row, 'seen_id');
  if (other !== null) return `${mine}, but the database has a different commit with this number (${other})`;
  if (seen.number < (integerOrNull(row, 'oldest') ?? 0)) {
    return `${mine}, which is older than the history that the database keeps: this process was disconnected for too long`;
  }
  return `${mine}, but the last commit of the database is ${integer(row, 'number')} (${text(row, 'id')})`;
}

function wentBack(difference: string) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_WENT_BACK',
    `the database has a different history: ${difference}. Nothing was applied. The server reloads all configuration: send the request again`,
  );
}

/** The newest commit. An empty store gets its first one, so that it has an identity too. */
export function* adoptCommit(): Program<CommitMark> {
  const newest = yield* readCommit();
  if (newest !== null) return newest;
  const first = { number: 1, id: randomUUID() };
  yield* writeCommit(first);
  return first;
}

export function* readCommit(): Program<CommitMark | null> {
  const row = yield* queryOne('SELECT number, id FROM commits ORDER BY number DESC LIMIT 1');
  return row === null ? null : { number: integer(row, 'number'), id: text(row, 'id') };
}

/** Under the writers' lock, as the last step of a transaction. */
export function* addCommit(after: CommitMark): Program<CommitMark> {
  const commit = { number: after.number + 1, id: randomUUID() };
  yield* writeCommit(commit);
  return commit;
}

/** Writes its commit and nothing else: proves that the store is writable again. */
export function* probeWrite(): Program<void> {}

function* writeCommit({ number, id }: CommitMark): Program<void> {
  yield* execute('INSERT INTO commits (number, id) VALUES (?, ?)', [number, id]);
}

export function* pruneCommits(): Program<void> {
  const newest = yield* readCommit();
  if (newest !== null) yield* execute('DELETE FROM commits WHERE number <= ?', [newest.number - KEPT_COMMITS]);
}
