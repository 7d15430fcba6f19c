import type { Config } from '../../config/schema.ts';

/** Access of the `ca` commands to the internal CAs: `src/main` wires it to the data directory. */
export interface CaPorts {
  /**
   * `domain`: the CA that can issue certificates for the configured domain only. `other`: the CA for all other hosts.
   */
  read(config: Config, which: 'domain' | 'other'): Promise<CaCertificate>;
}

export interface CaCertificate {
  /** Absolute path of the PEM. */
  readonly file: string;
  readonly pem: string;
}
