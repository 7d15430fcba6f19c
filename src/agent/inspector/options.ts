import type { AgentHandle, AgentTunnel } from '../handle.ts';
import type { TunnelSpec } from '../options.ts';

export interface InspectorOptions {
  /** Where it listens, by default 127.0.0.1:7040; when that port is taken, one of the ten after it. Port 0: any free one. */
  readonly listen?: { readonly host?: string | undefined; readonly port?: number | undefined } | undefined;
  /** Names, `name` or `name:port`, by which it may be addressed beside loopback's own. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** By default 500. */
  readonly maxRequests?: number | undefined;
  /** Of each direction; by default 128 KiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Of everything that is kept; by default 64 MiB. */
  readonly maxTotalBytes?: number | undefined;
  /** Shows values of sensitive headers. */
  readonly unmask?: boolean | undefined;
  tunnels(): readonly AgentTunnel[];
  /** What the tunnels were made of, by `ref`: the Host and the certificates that a replay needs. */
  readonly tunnelSpecs?: readonly Pick<TunnelSpec, 'hostHeader' | 'upstreamTls'>[] | undefined;
  /** Null as long as there is no agent. An `AgentHandle` will do. */
  status(): Pick<AgentHandle, 'status' | 'sessionId' | 'region' | 'roundTripMs' | 'active'> | null;
}

export const DEFAULT_LISTEN = { host: '127.0.0.1', port: 7040 } as const;

export const DEFAULT_STORE_LIMITS = {
  maxRequests: 500,
  maxBodyBytes: 131_072,
  maxTotalBytes: 67_108_864,
} as const;
