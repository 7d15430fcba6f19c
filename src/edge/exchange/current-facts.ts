import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';

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
