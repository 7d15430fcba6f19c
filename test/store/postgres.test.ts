import { join } from 'node:path';
import { after, before } from 'node:test';
import { storeConformance } from '../../src/store/conformance/store-conformance.ts';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { tempDir } from '../support/temp-dir.ts';

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

storeConformance('PostgreSQL', async (t, options = {}) => {
  const dataDir = join(await tempDir(t), 'data');
  const database = await freshDatabase(server);
  const { url } = database;
  const open = () => openPostgresStore({ url, dataDir, secretKey: null, ...options });
  let store = await open();
  t.after(async () => {
    await store.close();
    await database.drop();
  });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
  };
});
