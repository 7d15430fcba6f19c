import type { Config } from '../../config/schema.ts';

/** What the `store` commands do, in terms of no engine: `src/main` wires them to one. */
export interface StorePorts {
  /** With a passphrase the secret key goes along, sealed under it. */
  backup(
    config: Config,
    file: string,
    passphrase: string | null,
  ): Promise<{ readonly records: number; readonly revision: number }>;
  /** `readSecret` is called only if the backup holds a key. */
  restore(
    config: Config,
    file: string,
    options: { readonly isReplacing: boolean; readPassphrase(): Promise<string> },
  ): Promise<{ readonly records: number; readonly revision: number }>;
  /** Makes a new secret key and seals everything with it. */
  rotateKey(config: Config): Promise<{ readonly keyId: string; readonly records: number }>;
  createKey(
    config: Config,
    key: { readonly scopes: readonly string[] | null; readonly description: string },
  ): Promise<{ readonly id: string; readonly token: string }>;
}
