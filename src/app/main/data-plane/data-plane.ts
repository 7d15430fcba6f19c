import type { Socket } from 'node:net';
import type { ArrivingClients } from '../../../kit/net/arriving-clients.ts';
import { type EdgeListenerOptions, plainConnections } from '../../../proxy/edge/listeners/edge-listener.ts';
import { type AssembledEdge, assembleEdge, type EdgeParts } from './assemble-edge.ts';

/** What a listener does with its connections, whichever thread has accepted them. */
interface VisitorConnections extends Pick<EdgeListenerOptions, 'onSocket'> {
  readonly clients: ArrivingClients;
}

export interface DataPlane extends AssembledEdge {
  readonly visitors: { readonly https: VisitorConnections; readonly http: VisitorConnections };
}

/** Lets a connection enter now, or when visitors are admitted. */
type Admit = (socket: Socket, enter: () => void) => void;

/** The phase of the data plane, the same in the server's own thread and in a worker: the edge, and how visitors enter it. */
export async function openDataPlane(parts: EdgeParts, admit: Admit): Promise<DataPlane> {
  const assembled = await assembleEdge(parts);
  const { edge } = assembled;
  return {
    ...assembled,
    visitors: {
      https: {
        clients: parts.clientsOf('edge'),
        onSocket: (socket, client) => admit(socket, () => edge.accept(socket, client)),
      },
      http: {
        clients: parts.clientsOf('edge_http'),
        onSocket: plainConnections(
          parts.config.edge_connections_per_address,
          (socket, client) => admit(socket, () => edge.acceptPlain(socket, client)),
          parts.tallies?.plainConnections ?? null,
          () => parts.descriptors.free('visitor'),
        ),
      },
    },
  };
}
