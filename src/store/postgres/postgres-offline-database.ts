import type { OfflineDatabase } from '../offline/offline-database.ts';
import { createPool } from './client-config.ts';
import { CurrentServer } from './current-server.ts';
import { inTransaction, READ_VIEW } from './postgres-connection.ts';
import { TAKE_MIGRATION_LOCK } from './schema-names.ts';
import { ServerSurvey } from './server-survey.ts';

/** A backup waits for a slow disk or an overloaded machine between two pages, and a restore for its file. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 300_000;

export function createPostgresOfflineDatabase(url: string): OfflineDatabase {
  const server = new CurrentServer(url);
  const survey = new ServerSurvey(server);
  const pool = createPool(server, 1, { idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS });
  return {
    dialect: 'postgres',
    transaction: async (mode, use) => {
      await survey.whenDue();
      return inTransaction(pool, mode === 'write' ? `BEGIN; ${TAKE_MIGRATION_LOCK}` : READ_VIEW, (connection) =>
        use((program) => connection.run(program)),
      );
    },
    close: () => pool.end(),
  };
}
