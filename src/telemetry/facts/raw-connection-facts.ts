/** A finished connection that was forwarded undecrypted. */
export interface RawConnectionFacts {
  readonly endpointId: string;
  readonly tunnelId: string;
  /** Name of the node that passed the connection on to its agent; null when no other node was involved. */
  readonly tunnelNode: string | null;
  readonly proto: 'tcp' | 'tls';
  readonly clientAddress: string;
  /** `ip:port` that the client connected to. */
  readonly localAddress: string;
  readonly startedAtMs: number;
  readonly seconds: number;
  /** From the client. */
  readonly bytesIn: number;
  /** To the client. */
  readonly bytesOut: number;
  /** `done`, or a stable reason for an early end, such as `no_tunnel`, `refused`, `withdrawn`, `client_gone`. */
  readonly outcome: string;
}
