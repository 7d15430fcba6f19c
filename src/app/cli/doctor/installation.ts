import type { SiteEdge } from '../../../client/sites.ts';
import type { Transport } from '../../../client/transport.ts';
import type { Config } from '../../settings/schema.ts';

/** The installation to examine. */
export interface Installation {
  /** Settings of this shell, which equal the server's only when both got the same input. */
  readonly config: Config;
  /** Whether the API is on this machine: files, ports and addresses of another machine cannot be checked from here. */
  readonly isLocal: boolean;
  readonly nowMs: number;
}

/** A server that responds. */
export interface LiveInstallation extends Installation {
  readonly transport: Transport;
  readonly edges: readonly SiteEdge[];
}

/** Access to parts that the command may not import: `src/app/main` wires it. */
export interface DoctorPorts {
  nowMs(): number;
  /** PEM of the internal CAs that can be read here. */
  internalAuthorities(config: Config): Promise<readonly string[]>;
}
