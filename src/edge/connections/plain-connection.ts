import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { ClientAddresses } from './client-address.ts';
import type { ConnectionFacts } from './connection-facts.ts';

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
