import type { ClientCertificate } from '../modules/prepared-module.ts';

/** What a connection's handshake has proven. */
export interface ConnectionFacts {
  /** The edge of the name that the handshake was for. */
  readonly edgeId: string;
  /** What the handshake had to prove then; see EdgeSnapshot. */
  readonly tlsGeneration: string;
  /** Of the peer that is connected, a proxy's or the client's own. */
  readonly remoteAddress: string;
  readonly clientCertificate: ClientCertificate | null;
  /** No further request may come on it: HTTP/1.1 closes after the answer, HTTP/2 says GOAWAY. */
  retire(): void;
}
