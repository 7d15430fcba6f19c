import type { AgentHandle, AgentTunnel } from '../handle.ts';

export interface InspectorOptions {
  /** Listen address, by default 127.0.0.1:7040. If that port is in use, one of the next ten. Port 0: any free port. */
  readonly listen?: { readonly host?: string | undefined; readonly port?: number | undefined } | undefined;
  /** Host names (`name` or `name:port`) accepted in addition to loopback's own. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Default: 500. */
  readonly maxRequests?: number | undefined;
  /** Per direction. Default: 128 KiB. */
  readonly maxBodyBytes?: number | undefined;
  /** For everything stored. Default: 64 MiB. */
  readonly maxTotalBytes?: number | undefined;
  /** Shows the values of sensitive headers. */
  readonly unmask?: boolean | undefined;
  tunnels(): readonly AgentTunnel[];
  /** Null while there is no agent. Accepts an `AgentHandle`. */
  status(): Pick<AgentHandle, 'status' | 'sessionId' | 'region' | 'nodes' | 'roundTripMs' | 'active'> | null;
}

export const DEFAULT_LISTEN = { host: '127.0.0.1', port: 7040 } as const;

export const DEFAULT_STORE_LIMITS = {
  maxRequests: 500,
  maxBodyBytes: 131_072,
  maxTotalBytes: 67_108_864,
} as const;
