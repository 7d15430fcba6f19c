import type { Config } from '../../config/schema.ts';

/** What the `ca` commands need of the internal CAs: `src/main` wires them to the data directory. */
export interface CaPorts {
  /** `domain`: the one that may vouch for the configured domain only. `other`: the one for all other hosts. */
  read(config: Config, which: 'domain' | 'other'): Promise<CaCertificate>;
}

export interface CaCertificate {
  /** Absolute path of the PEM. */
  readonly file: string;
  readonly pem: string;
}
