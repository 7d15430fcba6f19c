import { inTransaction } from '../../src/store/postgres/postgres-connection.ts';
import { LOCK_WRITERS, WRITE } from '../../src/store/postgres/postgres-engine.ts';
import { createPool } from '../../src/store/postgres/server-pool.ts';

/** Runs as its own process: takes the writers' lock like a server, and is stopped in the middle of its transaction. */
const pool = createPool(process.argv[2] ?? '', 1);
try {
  await inTransaction(pool, WRITE, async (connection) => {
    await connection.query(LOCK_WRITERS);
    process.stdout.write('locked\n', () => process.kill(process.pid, 'SIGSTOP'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await connection.query(LOCK_WRITERS);
  });
  process.stdout.write('committed\n');
} catch (error) {
  process.stdout.write(`error ${(error as { code?: string }).code}\n`);
}
await pool.end();
