import { X509Certificate } from 'node:crypto';
import type { RevocationPolicy } from '../../../modules/contract/decides.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import { judgeRevocation } from '../tls/client-certificate.ts';
import type { ConnectionFacts } from './connection-facts.ts';

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
