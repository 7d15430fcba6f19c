import type { TLSSocket } from 'node:tls';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';

/** A connection whose handshake is complete and satisfied its edge at that time. */
export interface EdgeConnection extends Pick<ConnectionFacts, 'tlsGeneration' | 'remoteAddress' | 'clientCertificate'> {
  readonly socket: TLSSocket;
  readonly protocol: 'h2' | 'http/1.1';
  /** The peeked name, which selected the edge. The socket's own name can be `false` on resumption. */
  readonly servername: string;
  /** The edge's snapshot when the handshake started. */
  readonly edge: EdgeSnapshot;
}
