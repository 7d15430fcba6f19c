import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../../modules/prepared-module.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';

/** A connection whose handshake is complete and satisfied its edge at that time. */
export interface EdgeConnection {
  readonly socket: TLSSocket;
  readonly protocol: 'h2' | 'http/1.1';
  /** The peeked name, which selected the edge. The socket's own name can be `false` on resumption. */
  readonly servername: string;
  /** The edge's snapshot when the handshake started. */
  readonly edge: EdgeSnapshot;
  /** A request under another generation needs another handshake. */
  readonly tlsGeneration: string;
  /** IPv4 addresses are written as IPv4, even on an IPv6 listener. */
  readonly remoteAddress: string;
  readonly clientCertificate: ClientCertificate | null;
}
