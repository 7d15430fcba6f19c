/** A count of 0 means no limit. */
export interface TlsLimits {
  readonly helloTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** Handshakes in progress, including the wait for the ClientHello. */
  readonly maxPending: number;
  readonly maxPendingPerAddress: number;
  /** TLS servers kept, about 40 KB each. */
  readonly maxHostServers: number;
}

export const DEFAULT_TLS_LIMITS: TlsLimits = {
  helloTimeoutMs: 10_000,
  handshakeTimeoutMs: 10_000,
  maxConnections: 50_000,
  // One address can represent an office or a mobile network.
  maxConnectionsPerAddress: 2000,
  maxPending: 4096,
  maxPendingPerAddress: 512,
  maxHostServers: 2048,
};
