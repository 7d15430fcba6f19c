import type { Config } from '../../config/schema.ts';

/** A store, as the next start of this program would find it. */
export interface ExaminedStore {
  readonly engine: string;
  /** 0 for a store that does not exist yet. */
  readonly schemaVersion: number;
  readonly knownSchemaVersion: number;
  readonly pending: readonly { readonly version: number; readonly steps: readonly string[] }[];
  /** Whether servers of the store's version can run on beside the migration. */
  readonly isCompatible: boolean;
  readonly keyProblem: Error | null;
  readonly olderServers: { readonly count: number; readonly addresses: string };
  readonly holder: string | null;
}

export interface UpgradePorts {
  readonly version: string;
  /** Reads only. */
  examine(config: Config): Promise<ExaminedStore>;
}
