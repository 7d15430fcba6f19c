import type { OfflineDatabase } from '../offline/offline-database.ts';
import { createPool } from './client-config.ts';
import { inTransaction } from './postgres-connection.ts';
import { READ_VIEW } from './postgres-engine.ts';
import { TAKE_MIGRATION_LOCK } from './schema-names.ts';

export function createPostgresOfflineDatabase(url: string): OfflineDatabase {
  const pool = createPool(url, 1);
  return {
    dialect: 'postgres',
    transaction: (mode, use) =>
      inTransaction(pool, mode === 'write' ? `BEGIN; ${TAKE_MIGRATION_LOCK}` : READ_VIEW, (connection) =>
        use((program) => connection.run(program)),
      ),
    close: () => pool.end(),
  };
}
