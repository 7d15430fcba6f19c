import { errorTable } from '../lib/errors.ts';

export const storeErrors = errorTable({
  ERR_POSTERN_STORE_FULL: {
    status: 507,
    explanation:
      'The disk or the database that holds the store is full. Nothing of the request was applied. Free space and send it again: no restart is needed.',
  },
  ERR_POSTERN_STORE_UNAVAILABLE: {
    status: 503,
    explanation:
      'The store could not be reached or answered too late. If the request was a write, its outcome is not known: read the resource before sending it again, or send an Idempotency-Key.',
  },
  ERR_POSTERN_STORE_IN_USE: {
    status: 503,
    explanation: 'Another process holds the data directory. Stop it, or start with another POSTERN_DATA_DIR.',
  },
  ERR_POSTERN_STORE_TOO_NEW: {
    status: 503,
    explanation: 'The store was written by a newer version of Postern. Start that version or a later one.',
  },
  ERR_POSTERN_STORE_OLD_NODES: {
    status: 503,
    explanation:
      'Servers of an older version use the database, and this version would change its tables under them. Stop them first, or set database_migrate_under_old_nodes.',
  },
  ERR_POSTERN_STORE_WENT_BACK: {
    status: 503,
    explanation:
      'The database was restored to an earlier time, or failed over to a server that had not received every commit. Nothing of the request was applied. The node reads all configuration again by itself: send the request again.',
  },
  ERR_POSTERN_STORE_CORRUPT: {
    status: 503,
    explanation: 'The store holds something that Postern did not write. Restore a backup.',
  },
  ERR_POSTERN_STORE_GONE: {
    status: 503,
    explanation:
      'The database, or a file or table of it, was removed or replaced while the server was running. Nothing more is written. Stop the server, put back what was removed or restore a backup, and start again.',
  },
  ERR_POSTERN_STORE_READ_ONLY: {
    status: 503,
    explanation:
      'The database takes no writes: its disk is mounted read-only, its files are not writable, or it is a standby of PostgreSQL. Nothing of the request was applied. Mend it, or name the primary in POSTERN_DATABASE_URL, and send the request again: no restart is needed.',
  },
  ERR_POSTERN_SECRET_KEY: {
    status: 503,
    explanation:
      'The secret key is missing, malformed, or not the one that the store was written with. Give back the right POSTERN_SECRET_KEY or the key file of the data directory.',
  },
  ERR_POSTERN_BACKUP_INVALID: {
    status: 400,
    explanation:
      'The backup file is damaged, cut short, of another kind, or its passphrase is wrong. Nothing was restored.',
  },
  ERR_POSTERN_RESTORE_NOT_EMPTY: {
    status: 409,
    explanation: 'The store to restore into already holds records. Restore into an empty one, or say --replace.',
  },
  ERR_POSTERN_DATA_DIR: {
    status: 503,
    explanation: 'This user cannot create or use the data directory.',
  },
});
