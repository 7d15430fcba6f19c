import Type from 'typebox';
import { reference, refSchema } from '../../lib/schema/annotations.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import { type LiveResource, timestamp } from '../resource.ts';
import { type EdgeEndpoint, findEdgeEndpoint, newestFirst, pageOfEdgeEndpoints } from './edge-endpoints.ts';

const PATH = '/endpoints';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "ep_".' }),
  region: Type.String({ description: 'Region that serves the endpoint.', examples: ['local'] }),
  created_at: timestamp('When the endpoint started, or when its edge was created.'),
  updated_at: timestamp('When the endpoint last changed. For an edge, when the edge was created.'),
  public_url: Type.String({ description: 'Public URL of the endpoint.', examples: ['https://shop.example.com'] }),
  proto: Type.Enum(['http', 'https', 'tcp', 'tls'], { description: 'Its protocol.', examples: ['https'] }),
  hostport: Type.String({ description: 'Host and port of public_url.', examples: ['shop.example.com:443'] }),
  type: Type.Enum(['ephemeral', 'edge'], {
    description: "Whether an agent's tunnel or an edge serves the endpoint.",
    examples: ['edge'],
  }),
  metadata: Type.String({ description: 'Metadata of the tunnel or the edge.' }),
  tunnel: Type.Optional({ ...refSchema, description: 'The tunnel, for an ephemeral endpoint.' }),
  edge: Type.Optional(
    reference({ kinds: ['https_edge'] }, { ...refSchema, description: 'The edge, for an edge endpoint.' }),
  ),
});

/** Public addresses served now: those of online tunnels, and each hostport of an edge. */
export const endpoints: LiveResource = {
  type: 'live',
  name: 'endpoints',
  kind: 'endpoint',
  idPrefix: 'ep',
  path: PATH,
  listKey: 'endpoints',
  title: 'an endpoint',
  description: 'A public address served by an edge or a tunnel.',
  operations: liveReads<EdgeEndpoint>({
    resource: 'endpoints',
    idPrefix: 'ep',
    path: PATH,
    listKey: 'endpoints',
    title: 'an endpoint',
    plural: 'endpoints',
    schema,
    list: async (query, _request, { online, documents }) => {
      const ofTunnels = await online.list('endpoint', query);
      const ofEdges = pageOfEdgeEndpoints(documents.reader, query);
      return [...ofTunnels, ...ofEdges].sort(newestFirst).slice(0, query.limit);
    },
    get: async (id, { online, documents }) =>
      (await online.get('endpoint', id)) ?? findEdgeEndpoint(documents.reader, id),
    render: (items, _request, ports) =>
      items.map(({ id, doc }) => ({
        id,
        region: doc['region'] ?? ports.region,
        created_at: doc['created_at'] ?? '',
        updated_at: doc['updated_at'] ?? doc['created_at'] ?? '',
        public_url: doc['public_url'] ?? '',
        proto: doc['proto'] ?? '',
        hostport: doc['hostport'] ?? '',
        type: doc['type'] ?? 'ephemeral',
        metadata: doc['metadata'] ?? '',
        ...(typeof doc['tunnel_id'] === 'string' && { tunnel: { ...ports.ref(doc['tunnel_id']) } }),
        ...(typeof doc['edge_id'] === 'string' && { edge: { ...ports.ref(doc['edge_id']) } }),
      })),
    notFound: (id) => notOnline('endpoint', PATH, id),
  }),
};
