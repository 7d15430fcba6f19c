import type { HttpsEdge } from '../../client/generated/https-edges.ts';
import type { Transport } from '../../client/transport.ts';
import type { Config } from '../../config/schema.ts';

/** What there is to look at. */
export interface Installation {
  /** As this shell has it, which is the server's only when both were given the same. */
  readonly config: Config;
  /** Whether the API is on this machine: files, ports and addresses of elsewhere cannot be judged from here. */
  readonly isLocal: boolean;
  readonly nowMs: number;
}

/** What can be asked of a server that answers. */
export interface LiveInstallation extends Installation {
  readonly transport: Transport;
  readonly edges: readonly HttpsEdge[];
}
