import type { Config } from '../../config/schema.ts';

/** Operations of the `store` commands, independent of the engine: `src/main` wires them. */
export interface StorePorts {
  /** With a passphrase the backup includes the secret key, sealed under it. */
  backup(config: Config, file: string, passphrase: string | null): Promise<BackupOutcome>;
  restore(config: Config, file: string, options: RestoreChoices): Promise<RestoreOutcome>;
  /** Creates a new secret key, or takes the first configured one, and seals everything with it. */
  rotateKey(config: Config): Promise<RotateOutcome>;
  /** Returns the token of the new API key. `scopes: null` grants all. */
  createKey(
    config: Config,
    key: { readonly scopes: readonly string[] | null; readonly description: string },
  ): Promise<string>;
}

export interface BackupOutcome {
  readonly records: number;
  readonly revision: number;
  readonly keyId: string;
}

export interface RestoreChoices {
  readonly replace: boolean;
  /** Called only if it is needed. */
  readonly passphrase: () => Promise<string>;
}

export interface RestoreOutcome {
  readonly records: number;
  readonly revision: number;
  /** Secret keys that the restored store needs to open. */
  readonly missingKeyIds: readonly string[];
}

export interface RotateOutcome {
  readonly keyId: string;
  readonly resealed: number;
  readonly droppableKeyIds: readonly string[];
}
