import { openPostgresStore } from '../../../src/store/postgres/open-postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A real store on PostgreSQL that the gateways of a test file share. */
export async function sharedStore(test: Cleanup): Promise<Store> {
  const server = await startPostgres();
  const database = await freshDatabase(server);
  const store = await openPostgresStore({
    url: database.url,
    dataDir: await tempDir(test),
    secretKey: Buffer.alloc(32, 7).toString('base64'),
  });
  test.after(async () => {
    await store.close();
    await database.drop();
    await server.stop();
  });
  return store;
}
