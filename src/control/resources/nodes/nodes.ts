import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { ListedNode, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export interface NodePorts extends Pick<SharedPorts, 'ref' | 'uri'> {
  /** All servers of this installation, from memory. */
  readonly nodes: () => readonly ListedNode[];
}

const PATH = '/nodes';

const schema = Type.Object({
  id: Type.String({ description: 'Unique node identifier. Every start of a server has a new one.' }),
  uri: Type.String({ description: 'URI of the node.' }),
  name: Type.String({ description: 'Name from the setting node_name, or the host name. It stays after a restart.' }),
  version: Type.String({ description: 'Version of the program.' }),
  roles: Type.Array(Type.String(), { description: 'Roles that the node runs.' }),
  region: Type.String({ description: 'Region of the node.' }),
  status: Type.Enum(['ready', 'draining', 'lost'], {
    description:
      'ready: it serves. draining: it is being stopped. lost: its lease has ended; it is listed for ten minutes.',
  }),
  started_at: timestamp('When the node started.'),
  last_seen_at: timestamp('When the node last renewed its lease.'),
  peer_address: Type.Union([Type.String(), Type.Null()], {
    description: 'Address at which other nodes dial it. null: it has no peer listener.',
  }),
  agents: Type.Integer({ description: 'Agent sessions on the node.' }),
  tunnels: Type.Integer({ description: 'Online tunnels of these sessions.' }),
  problems: Type.Array(Type.String(), {
    description: 'What the node cannot do, such as a port that it cannot open or a node that it cannot reach.',
  }),
});

/** Servers of this installation. Answered from memory. */
export const nodes: LiveResource<NodePorts> = {
  type: 'live',
  name: 'nodes',
  kind: 'node',
  idPrefix: 'nd',
  path: PATH,
  listKey: 'nodes',
  title: 'a node',
  description: 'A node: a running server of this installation. Several nodes share a PostgreSQL database.',
  operations: liveReads<ListedNode, NodePorts>({
    resource: 'nodes',
    idPrefix: 'nd',
    path: PATH,
    listKey: 'nodes',
    title: 'a node',
    plural: 'nodes',
    schema,
    list: async ({ beforeId, limit }, _request, ports) =>
      ports
        .nodes()
        .filter(({ id }) => beforeId === null || id < beforeId)
        .sort((one, other) => (one.id < other.id ? 1 : -1))
        .slice(0, limit),
    get: async (id, ports) => ports.nodes().find((node) => node.id === id) ?? null,
    render: (found, _request, ports) =>
      found.map((node) => ({
        ...ports.ref(node.id),
        name: node.name,
        version: node.version,
        roles: node.roles,
        region: node.region,
        status: node.status,
        started_at: rfc3339(node.startedAtMs),
        last_seen_at: rfc3339(node.lastSeenAtMs),
        peer_address: node.peerAddress,
        agents: node.agents,
        tunnels: node.tunnels,
        problems: node.problems.map(({ message }) => message),
      })),
    notFound: (id) => notOnline('node', PATH, id),
  }),
};
