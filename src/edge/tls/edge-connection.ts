import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../../modules/prepared-module.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';

/** A connection whose handshake is over and suffices for its edge, as that was then. */
export interface EdgeConnection {
  readonly socket: TLSSocket;
  readonly protocol: 'h2' | 'http/1.1';
  /** The peeked name, by which the edge was chosen. The socket's own can be `false` on resumption. */
  readonly servername: string;
  /** As it was when the handshake began. */
  readonly edge: EdgeSnapshot;
  /** A request under another generation needs another handshake. */
  readonly tlsGeneration: string;
  /** An IPv4 address is written as one, also when the listener is IPv6. */
  readonly remoteAddress: string;
  readonly clientCertificate: ClientCertificate | null;
}
