import type { Config } from '../../config/schema.ts';

/** What the `store` commands do, in terms of no engine: `src/main` wires them to one. */
export interface StorePorts {
  /** With a passphrase the secret key goes along, sealed under it. */
  backup(config: Config, file: string, passphrase: string | null): Promise<BackupOutcome>;
  restore(config: Config, file: string, options: RestoreChoices): Promise<RestoreOutcome>;
  /** Makes a new secret key, or takes the first of those configured, and seals everything with it. */
  rotateKey(config: Config): Promise<RotateOutcome>;
  /** Returns the token of the new API key. `scopes: null` is all of them. */
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
  /** Secret keys without which the restored store does not open. */
  readonly missingKeyIds: readonly string[];
}

export interface RotateOutcome {
  readonly keyId: string;
  readonly resealed: number;
  readonly droppableKeyIds: readonly string[];
}
