import type { ClientCertificate } from '../modules/prepared-module.ts';

/** What a connection's handshake has proven. */
export interface ConnectionFacts {
  /** The edge of the name that the handshake was for. */
  readonly edgeId: string;
  /** What the handshake had to prove then; see EdgeSnapshot. */
  readonly tlsGeneration: string;
  /** As the runtime names it, such as `TLSv1.3`. */
  readonly tlsVersion: string;
  /** PEM of the authorities, one of which has vouched for the client's certificate; none when none was demanded. */
  readonly clientAuthorities: readonly string[];
  /** Of the peer that is connected, a proxy's or the client's own. */
  readonly remoteAddress: string;
  /** Whether that peer is a trusted proxy. */
  readonly isFromProxy: boolean;
  readonly clientCertificate: ClientCertificate | null;
  /** No further request may come on it: HTTP/1.1 closes after the answer, HTTP/2 says GOAWAY. */
  retire(): void;
}
