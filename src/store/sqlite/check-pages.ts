import { statSync } from 'node:fs';
import { statement } from '../sql/statements/statement.ts';
import { damaged } from './database-files.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

/** Larger files take too long. */
const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

/** Throws if the structure of a page is damaged. SQLite has no checksums of content: a changed value goes unnoticed. */
export function checkPages(connection: SqliteConnection): void {
  if ((statSync(connection.path, { throwIfNoEntry: false })?.size ?? 0) > MAX_CHECKED_BYTES) return;
  const [row] = connection.transaction('DEFERRED', () => connection.query(statement('PRAGMA quick_check(1)')));
  const result = String(row?.['quick_check']);
  if (result !== 'ok') throw damaged(connection.path, result);
}
