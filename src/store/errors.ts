import { errorTable } from '../kit/errors.ts';

export const storeErrors = errorTable({
  ERR_POSTERN_STORE_FULL: {
    status: 507,
    explanation:
      'The disk or the database that contains the store is full. The request was not applied. Free space, then send it again. No restart is needed.',
  },
  ERR_POSTERN_STORE_UNAVAILABLE: {
    status: 503,
    retryAfterSeconds: 2,
    explanation:
      'The store could not be reached or did not respond in time. If the request was a write, its outcome is unknown: read the resource before you send it again, or send an Idempotency-Key.',
  },
  ERR_POSTERN_STORE_IN_USE: {
    status: 503,
    explanation:
      'Another process uses the data directory. Stop that process, or set another directory with POSTERN_DATA_DIR.',
  },
  ERR_POSTERN_STORE_TOO_NEW: {
    status: 503,
    explanation: 'The store was written by a newer version of Postern. Start that version or a later one.',
  },
  ERR_POSTERN_STORE_OTHER_BUILD: {
    status: 503,
    explanation:
      'The tables of the store are not those of its schema version: another commit of Postern wrote it, or somebody changed them. Start the program that wrote it.',
  },
  ERR_POSTERN_STORE_OLD_NODES: {
    status: 503,
    explanation:
      'This version has to migrate the database, but nodes of an older version are connected to it. Stop them first, or set database_migrate_under_old_nodes.',
  },
  ERR_POSTERN_STORE_WENT_BACK: {
    status: 503,
    retryAfterSeconds: 2,
    explanation:
      'The database was restored to an earlier time, or failed over to a server that had not received every commit. The request was not applied. The server reloads all configuration automatically. Send the request again.',
  },
  ERR_POSTERN_STORE_CORRUPT: {
    status: 503,
    explanation:
      'The store contains data that Postern did not write. If the message names a record, delete it and create it again. Otherwise restore a backup.',
  },
  ERR_POSTERN_STORE_GONE: {
    status: 503,
    explanation:
      'The database, or one of its files or tables, was removed or replaced while the server was running. The server no longer writes to it. Stop the server, put the file or table back or restore a backup, then start the server.',
  },
  ERR_POSTERN_STORE_READ_ONLY: {
    status: 503,
    retryAfterSeconds: 2,
    explanation:
      'The database is read-only: its disk is mounted read-only, its files are not writable, or it is a PostgreSQL standby. The request was not applied. Make the database writable, or promote the standby, then send the request again. No restart is needed, unless you change POSTERN_DATABASE_URL.',
  },
  ERR_POSTERN_SECRET_KEY: {
    status: 503,
    explanation:
      'The secret key is missing, malformed, readable by every user of the machine, or not the one that the store was written with. Set the right POSTERN_SECRET_KEY, or restore the key file in the data directory.',
  },
  ERR_POSTERN_BACKUP_INVALID: {
    status: 400,
    explanation: 'The file is damaged, truncated or not a backup, or the passphrase is wrong. Nothing was restored.',
  },
  ERR_POSTERN_RESTORE_NOT_EMPTY: {
    status: 409,
    explanation: 'The target store already contains records. Restore into an empty store, or use --replace.',
  },
  ERR_POSTERN_DATA_DIR: {
    status: 503,
    explanation: 'This user cannot create or use the data directory, or every user of the machine may write to it.',
  },
});
