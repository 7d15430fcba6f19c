import { examineStore } from '../../../store/examine-store.ts';
import type { UpgradePorts } from '../../cli/upgrade/upgrade-check-command.ts';
import { programVersion } from '../version.ts';

export function upgradePorts(): UpgradePorts {
  return {
    version: programVersion(),
    examine: ({ data_dir: dataDir, database_url: url, secret_key: secretKey }) =>
      examineStore(
        url === null ? { engine: 'sqlite', dataDir, secretKey } : { engine: 'postgres', url, dataDir, secretKey },
      ),
  };
}
