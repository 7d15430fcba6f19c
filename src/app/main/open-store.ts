import type { Clock } from '../../kit/clock.ts';
import { loadPart } from '../../kit/load-part.ts';
import { openSqliteStore } from '../../store/sqlite/open-sqlite-store.ts';
import type { CommitMark, Store } from '../../store/store.ts';
import type { Config } from '../settings/schema.ts';

type StoreSettings = Pick<Config, 'data_dir' | 'database_url' | 'database_migrate_under_old_nodes' | 'secret_key'>;

/**
 * The only place that knows the engines by name. `takesOverAt`: what another process that hands over has proved to be
 * in its store.
 */
export async function openStore(
  settings: StoreSettings,
  clock: Clock,
  takesOverAt: CommitMark | null = null,
): Promise<Store> {
  const { data_dir: dataDir, database_url: url, secret_key: secretKey } = settings;
  if (url === null) return openSqliteStore({ dataDir, secretKey, clock, takesOverAt });
  const { openPostgresStore } = await loadPart(() => import('../../store/postgres/open-postgres-store.ts'));
  const { database_migrate_under_old_nodes: mayMigrateUnderOldNodes } = settings;
  return openPostgresStore({ url, dataDir, secretKey, clock, mayMigrateUnderOldNodes, takesOverAt });
}
