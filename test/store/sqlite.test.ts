import { join } from 'node:path';
import { storeConformance } from '../../src/store/conformance/store-conformance.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { tempDir } from '../support/temp-dir.ts';

storeConformance('SQLite', async (t, options = {}) => {
  const dataDir = join(await tempDir(t), 'data');
  const open = () => openSqliteStore({ dataDir, secretKey: null, ...options });
  let store = await open();
  t.after(() => store.close());
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
  };
});
