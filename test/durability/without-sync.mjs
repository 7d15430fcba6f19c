// Loaded into a server with --import: the store then asks SQLite for no sync at all. Shows that the trace's check can
// fail.
import { DatabaseSync } from 'node:sqlite';

const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function execWithoutSync(sql) {
  return exec.call(this, sql.replace(/synchronous\s*=\s*FULL/i, 'synchronous = OFF'));
};
