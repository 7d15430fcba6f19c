import { randomBytes } from 'node:crypto';
import { Registry } from 'prom-client';
import { Health } from '../../../control/api/health.ts';
import { createCatalog } from '../../../control/documents/catalog.ts';
import { resources } from '../../../control/resources/registry.ts';
import { systemClock } from '../../../kit/clock.ts';
import { createLog } from '../../../kit/logging/logger.ts';
import { modules } from '../../../modules/registry.ts';
import { ProblemIndex } from '../../../proxy/snapshot/problems.ts';
import { backupStore } from '../../../store/backup/backup-store.ts';
import { restoreStore } from '../../../store/backup/restore-store.ts';
import { giveToOwner } from '../../../store/data-directory.ts';
import type { StoreLocation } from '../../../store/offline-database.ts';
import { Replica } from '../../../store/replica/replica.ts';
import { rotateKey } from '../../../store/rotate-key.ts';
import type { StorePorts } from '../../cli/store/store-command.ts';
import type { Config } from '../../settings/schema.ts';
import { openApi } from '../api.ts';
import { openStore } from '../open-store.ts';

/** The `store` commands on the store that the settings name. */
export const storePorts: StorePorts = {
  backup: (config, file, passphrase) =>
    inDataDir(config, () =>
      backupStore({
        source: storeLocation(config),
        file,
        ...(passphrase !== null && { withKey: { passphrase } }),
      }),
    ),
  restore: async (config, file, { replace, passphrase }) => {
    let typed: Promise<string> | null = null;
    const once = (): Promise<string> => {
      typed ??= passphrase();
      return typed;
    };
    const { tryBackup } = await import('./try-backup.ts');
    return inDataDir(config, async () => {
      await tryBackup(config, file, once);
      return restoreStore({ target: storeLocation(config), file, replace, passphrase: once });
    });
  },
  rotateKey: (config) => inDataDir(config, () => rotateKey({ target: storeLocation(config) })),
  createKey: (config, key) => inDataDir(config, () => createKey(config, key)),
};

/** Root runs these commands for a service, which has a user of its own. */
async function inDataDir<Result>({ data_dir: dataDir }: Config, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } finally {
    giveToOwner(dataDir);
  }
}

/** Through the same code as the first key, on a store opened only for this. */
async function createKey(
  config: Config,
  { scopes, description }: Parameters<StorePorts['createKey']>[1],
): Promise<string> {
  await using opened = new AsyncDisposableStack();
  const store = await openStore(config, systemClock);
  opened.defer(() => store.close());
  const replica = await Replica.open(store);
  opened.defer(() => replica.close());
  const { logger, apiRequestLogger } = createLog('error', { write: (line) => process.stderr.write(line) });
  const api = await openApi({
    catalog: createCatalog(resources, modules),
    registry: new Registry(),
    config,
    store,
    replica,
    clock: systemClock,
    logger,
    apiRequestLogger,
    health: new Health(),
    // Nothing is served, but the event that reports the new key contains its address.
    baseUrl: config.api_url ?? 'http://localhost',
    problems: new ProblemIndex(),
    served: () => null,
    tunnelNamesUnder: () => [],
    ownIssuer: null,
    internalCa: () => Promise.reject(new Error('no agent is invited here')),
    isAddressAllowed: () => false,
    isBackendAllowed: () => false,
    isOwnApi: () => false,
    whyForbidden: () => null,
  });
  opened.defer(() => api.close());
  const token = `postern_ak_${randomBytes(32).toString('base64url')}`;
  await api.bootstrapPort.create({ kind: 'api_key', token, description, ...(scopes !== null && { scopes }) });
  return token;
}

function storeLocation({ data_dir: dataDir, database_url: url, secret_key: secretKey }: Config): StoreLocation {
  return url === null ? { engine: 'sqlite', dataDir, secretKey } : { engine: 'postgres', url, dataDir, secretKey };
}
