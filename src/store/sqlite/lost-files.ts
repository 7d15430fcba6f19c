import { closeSync, openSync, statSync } from 'node:fs';
import { databasePath } from '../data-directory.ts';
import { storeErrors } from '../errors.ts';
import type { CommitMark, StorePosition } from '../sql/commits/commit-rows.ts';
import { type LastCommit, lastCommitPath, readLastCommit, saltIn } from './last-commit-file.ts';

/** Each reset of a log adds one to its salt, and `last-commit` is at most one behind. A foreign log has any 32 bits. */
const MAX_RESETS = 1_000;

/**
 * Before SQLite opens the files: it would make a new database of a missing or empty one, and replay the log of another
 * database into this one. Returns what the database must contain. `mark`: the last commit of the owner, which runs and
 * hands over.
 */
export function refuseLostFiles(dataDir: string, mark: CommitMark | null = null): LastCommit | null {
  const last = readLastCommit(dataDir);
  if (last === null && mark === null) return null;
  const path = databasePath(dataDir);
  const { size = null } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (size === null || size === 0) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_CORRUPT',
      `the database ${path} is ${size === null ? 'missing' : 'empty'}, but this data directory had ${had(last, mark)}. Put the file back with its log, or restore a backup (postern store restore FILE --replace). To begin with an empty store, delete ${lastCommitPath(dataDir)}`,
    );
  }
  // As long as its owner has it open, only somebody else removes it.
  if (mark !== null && statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_CORRUPT',
      `the log ${path}-wal of the running server is missing. Stop the server, then put the log back or restore a backup (postern store restore FILE --replace)`,
    );
  }
  if (last !== null && last.logSalt !== null && isForeignLog(`${path}-wal`, last.logSalt)) {
    throw storeErrors.create(
      'ERR_POSTERN_STORE_CORRUPT',
      `the log ${path}-wal does not belong to ${path}: another file was put in its place. Nothing was changed. Put the right log back, or restore a backup (postern store restore FILE --replace). To use these files as they are, delete ${lastCommitPath(dataDir)}`,
    );
  }
  return last;
}

/** What is gone, for the log of the server. */
export function lossText(path: string, last: LastCommit, found: StorePosition): string {
  return `the database ${path} lost commits: this server has acknowledged ${described(last)}, and the database ends with ${described(found)}. Its log ${path}-wal was removed, shortened or replaced, or an older copy of the database was put in place. The lost changes are gone, among them deletions of keys and other revocations: repeat them, or stop the server and restore a backup that has them (postern store restore FILE --replace)`;
}

function had(last: LastCommit | null, mark: CommitMark | null): string {
  return last === null ? `commit ${mark?.number}` : described(last);
}

function described({ revision, commit }: StorePosition): string {
  return `revision ${revision} (commit ${commit.number})`;
}

function isForeignLog(path: string, salt: number): boolean {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
  const log = openSync(path, 'r');
  try {
    const found = saltIn(log);
    // As unsigned 32-bit numbers.
    return found !== null && (found - salt) >>> 0 > MAX_RESETS;
  } finally {
    closeSync(log);
  }
}
