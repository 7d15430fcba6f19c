import { databasePath, makeDataDirectory, makePrivateFile } from '../../src/store/data-directory.ts';
import { loadKeyring, sealKeyCheck } from '../../src/store/load-keyring.ts';
import { openOfflineDatabase } from '../../src/store/offline/open-offline-database.ts';
import type { StoreLocation } from '../../src/store/offline/store-location.ts';
import { writeMeta } from '../../src/store/sql/schema/meta-rows.ts';
import { migrate } from '../../src/store/sql/schema/migrate.ts';

/** A store as left by a release with this schema version. */
export async function makeOldStore(location: StoreLocation, version: number): Promise<void> {
  makeDataDirectory(location.dataDir);
  if (location.engine === 'sqlite') makePrivateFile(databasePath(location.dataDir));
  const keyring = loadKeyring({ dataDir: location.dataDir, configured: null, mayCreate: true });
  const database = openOfflineDatabase(location, 'write');
  try {
    await database.transaction('write', async (run) => {
      await run(migrate({ dialect: database.dialect, upTo: version }));
      await run(writeMeta('key_check', sealKeyCheck(keyring)));
      await run(writeMeta('account_id', 'ac_old'));
    });
  } finally {
    await database.close();
  }
}
