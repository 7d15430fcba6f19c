import { X509Certificate } from 'node:crypto';
import type { EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { ConnectionFacts } from './edge-connection.ts';

/**
 * Whether what a connection's handshake has proven is still enough for its edge. A change that asks for less, or for nothing
 * that this connection lacks, must not cost anybody an open stream; in doubt it is not enough, and the client connects anew.
 */
export function handshakeSuffices(connection: ConnectionFacts, { tls, tlsGeneration }: EdgeSnapshot): boolean {
  if (tlsGeneration === connection.tlsGeneration) return true;
  if (tls.minVersion === 'TLSv1.3' && connection.tlsVersion !== 'TLSv1.3') return false;
  return tls.clientAuthorities === undefined || isStillVouchedFor(connection, tls.clientAuthorities);
}

function isStillVouchedFor(connection: ConnectionFacts, authorities: readonly string[]): boolean {
  const { clientCertificate, clientAuthorities } = connection;
  if (clientCertificate === null) return false;
  const remaining = clientAuthorities.filter((pem) => authorities.includes(pem));
  // Whichever of them it was that the handshake relied on.
  if (remaining.length === clientAuthorities.length) return true;
  const leaf = new X509Certificate(clientCertificate.der);
  // Only one that was trusted then, too: the handshake has looked at all the rest. Through intermediates: not known here.
  return remaining.some((pem) => {
    const authority = new X509Certificate(pem);
    return leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
  });
}
