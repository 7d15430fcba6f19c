import { X509Certificate } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { type AddressMatcher, cidrMatcher, parseAddress, parseWrittenAddress } from '../../../kit/net/cidr.ts';
import type { ClientCertificate, RevocationPolicy } from '../../../modules/contract/decides.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { ResponseWriter } from '../http/incoming-request.ts';
import type { RequestHead } from '../http/request-head.ts';
import { judgeRevocation } from '../tls/client-certificate.ts';

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

/** The request of a client, and the writer of its response. */
export interface ClientSide {
  readonly head: RequestHead;
  readonly writer: ResponseWriter;
  /** Null when there is no body. */
  readonly source: Readable | null;
  readonly trailers: () => HeaderList;
  /** Called once the source has ended: whether the client marked the end of the body. */
  readonly isBodyWhole: () => boolean;
  /** Bytes at the start of the source that a module has read: they are already counted. */
  readonly countedBytes?: number;
  /** What modules have changed beside the headers; absent: nothing. */
  readonly changedHead?: ChangedHead;
}

/** How the request for the upstream differs from that of the client. */
interface ChangedHead {
  /** The Host for the upstream; null: that of the client. */
  readonly host: string | null;
  /** Path and query for the upstream; null: those of the client. */
  readonly target: string | null;
  /** Headers that the edge does not add. */
  readonly withoutForwarded: ReadonlySet<string>;
}

/** Used when a trusted proxy did not send an address; no address rule matches it. */
const UNKNOWN = 'unknown';

/** Application gateways write the port of the client, too. Without brackets, an IPv6 address cannot have one. */
const WITH_PORT = /^(?:([\d.]+)|\[([^\]]*)\])(?::\d{1,5})?$/;

/** Trusts X-Forwarded-For from trusted proxies only; the list is empty unless set. */
export class ClientAddresses {
  readonly #trusted: readonly AddressMatcher[];

  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map(cidrMatcher);
  }

  /** The last address in the chain that is not a trusted proxy: anybody may have written the addresses before it. */
  of(remoteAddress: string, head: RequestHead): string {
    return this.#believed(remoteAddress, head)?.[0] ?? remoteAddress;
  }

  /** The trusted part of the chain, client first, if the peer is a trusted proxy. */
  chain(remoteAddress: string, head: RequestHead): string | null {
    return this.#believed(remoteAddress, head)?.join(', ') ?? null;
  }

  /**
   * Read from the right, and no further than the client: if the rest were validated, a client could write nonsense
   * there, have the whole chain discarded, and be taken for the proxy.
   */
  #believed(remoteAddress: string, head: RequestHead): readonly string[] | null {
    if (this.#trusted.length === 0 || head.forwardedFor === null || !this.isTrusted(remoteAddress)) return null;
    const hops = head.forwardedFor.split(',');
    const believed: string[] = [];
    for (let at = hops.length - 1; at >= 0; at -= 1) {
      const address = parseWrittenAddress(withoutPort((hops[at] as string).trim()));
      believed.push(address?.toString() ?? UNKNOWN);
      if (!this.#isProxy(address)) break;
    }
    return believed.reverse();
  }

  /** Whether the peer of a connection is a trusted proxy. */
  isTrusted(remoteAddress: string): boolean {
    return this.#isProxy(parseAddress(remoteAddress));
  }

  #isProxy(address: ReturnType<typeof parseAddress>): boolean {
    return address !== null && this.#trusted.some((matches) => matches(address));
  }
}

function withoutPort(hop: string): string {
  const named = WITH_PORT.exec(hop);
  return named?.[1] ?? named?.[2] ?? hop;
}

/** Nothing was proven, and only the requests name their host. */
export function plainFacts(remoteAddress: string, addresses: ClientAddresses): Omit<ConnectionFacts, 'retire'> {
  return {
    serverName: '',
    edgeId: '',
    tlsGeneration: '',
    tlsVersion: '',
    clientAuthorities: [],
    remoteAddress,
    isFromProxy: addresses.isTrusted(remoteAddress),
    clientCertificate: null,
  };
}

/** The facts of a connection for a request whose host is served over plain HTTP. */
export function onPlainHost(connection: ConnectionFacts, { id: edgeId, tlsGeneration }: EdgeSnapshot): ConnectionFacts {
  return { ...connection, edgeId, tlsGeneration, retire: () => connection.retire() };
}

/**
 * Whether a connection's handshake still satisfies its edge. A change that requires less, or nothing that this
 * connection lacks, must not cost anybody an open stream. In doubt it does not suffice, and the client reconnects.
 */
export function handshakeSuffices(
  connection: ConnectionFacts,
  { tls, tlsGeneration }: EdgeSnapshot,
  nowMs: number,
): boolean {
  if (tlsGeneration === connection.tlsGeneration) return true;
  if (tls.minVersion === 'TLSv1.3' && connection.tlsVersion !== 'TLSv1.3') return false;
  if (tls.clientAuthorities === undefined) return true;
  return isStillVouchedFor(connection, tls.clientAuthorities) && isUnrevoked(connection, tls.revocation, nowMs);
}

function isUnrevoked(
  { clientCertificate }: ConnectionFacts,
  revocation: RevocationPolicy | undefined,
  nowMs: number,
): boolean {
  if (revocation === undefined) return true;
  return clientCertificate !== null && judgeRevocation(revocation, clientCertificate, nowMs).refusal === null;
}

function isStillVouchedFor(connection: ConnectionFacts, authorities: readonly string[]): boolean {
  const { clientCertificate, clientAuthorities } = connection;
  if (clientCertificate === null) return false;
  const remaining = clientAuthorities.filter((pem) => authorities.includes(pem));
  // Whichever of them the handshake relied on.
  if (remaining.length === clientAuthorities.length) return true;
  const leaf = new X509Certificate(clientCertificate.der);
  // Only an authority that was trusted then: the handshake has verified all the rest. Chains through intermediates are
  // unknown here.
  return remaining.some((pem) => {
    const authority = new X509Certificate(pem);
    return leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
  });
}

/**
 * A connection's facts for a request. The name of a connection can get another edge while it is open: its agent
 * restarts, or its edge is deleted and created again. The connection then belongs to the edge that a handshake with its
 * name reaches now. What its own handshake proved stays as it was, and `handshakeSuffices` compares that with the edge.
 */
export function currentFacts(
  connection: ConnectionFacts,
  host: string,
  findEdge: (host: string) => EdgeSnapshot | undefined,
): ConnectionFacts {
  const edgeId = findEdge(host)?.id;
  if (edgeId === undefined || edgeId === connection.edgeId) return connection;
  if (findEdge(connection.serverName)?.id !== edgeId) return connection;
  return { ...connection, edgeId, retire: () => connection.retire() };
}
