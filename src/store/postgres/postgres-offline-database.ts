import type { OfflineDatabase } from '../offline/offline-database.ts';
import { createPool } from './client-config.ts';
import { inTransaction, READ_VIEW } from './postgres-connection.ts';
import { TAKE_MIGRATION_LOCK } from './schema-names.ts';

/** A backup waits for a slow disk or an overloaded machine between two pages, and a restore for its file. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 300_000;

export function createPostgresOfflineDatabase(url: string): OfflineDatabase {
  const pool = createPool(url, 1, { idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS });
  return {
    dialect: 'postgres',
    transaction: (mode, use) =>
      inTransaction(pool, mode === 'write' ? `BEGIN; ${TAKE_MIGRATION_LOCK}` : READ_VIEW, (connection) =>
        use((program) => connection.run(program)),
      ),
    close: () => pool.end(),
  };
}
