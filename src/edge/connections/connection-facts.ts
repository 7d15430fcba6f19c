import type { ClientCertificate } from '../../modules/contract/decides.ts';

/** Facts established by a connection's handshake. */
export interface ConnectionFacts {
  /** The name in the ClientHello; empty without TLS. */
  readonly serverName: string;
  /** The edge of that name: at the handshake, or now (see `currentFacts`). Empty: none. */
  readonly edgeId: string;
  /** Requirements of the handshake at that time; see EdgeSnapshot. */
  readonly tlsGeneration: string;
  /** The runtime's name, such as `TLSv1.3`. */
  readonly tlsVersion: string;
  /** PEM of the authorities, one of which issued the client's certificate; empty when none was required. */
  readonly clientAuthorities: readonly string[];
  /** Address of the connected peer, a proxy or the client itself. */
  readonly remoteAddress: string;
  /** Whether that peer is a trusted proxy. */
  readonly isFromProxy: boolean;
  readonly clientCertificate: ClientCertificate | null;
  /** No further request may arrive on it: HTTP/1.1 closes after the response, HTTP/2 sends GOAWAY. */
  retire(): void;
}

/** The address that shares scarce things with others. A proxy has none: its connections are those of many visitors. */
export function sharingAddress({
  remoteAddress,
  isFromProxy,
}: Pick<ConnectionFacts, 'remoteAddress' | 'isFromProxy'>): string | undefined {
  return isFromProxy ? undefined : remoteAddress;
}
