import type { Config } from '../../config/schema.ts';

/** Access of the `ca` commands to the internal CAs: `src/main` wires it to the data directory. */
export interface CaPorts {
  /**
   * `isDomainNamed`: false if the domain is only the default. The data directory then says which one the server has, or had:
   * one CA for each domain.
   */
  read(config: Config, which: WhichCa, isDomainNamed: boolean): Promise<readonly CaCertificate[]>;
}

/** `domain`: the CA that can issue certificates for the configured domain only. `other`: the CA for all other hosts. */
export type WhichCa = 'domain' | 'other';

export interface CaCertificate {
  /** Absolute path of the PEM. */
  readonly file: string;
  readonly pem: string;
  /** The domain of the server. */
  readonly domain: string;
}
