import Type from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { reference, refSchema } from '../../lib/schema/annotations.ts';
import { coversScope } from '../covers-scope.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { Principal } from '../operation.ts';
import { type LiveResource, timestamp } from '../resource.ts';
import type { ReadingPorts, SharedPorts } from '../shared-ports.ts';
import { type EdgeEndpoint, findEdgeEndpoint, newestFirst, pageOfEdgeEndpoints } from './edge-endpoints.ts';
import { UNUSED_VALUES, unusedFields } from './unused-fields.ts';

export interface EndpointPorts extends ReadingPorts, Pick<SharedPorts, 'online' | 'ref' | 'uri'> {
  /** This process's region, from the settings. */
  readonly region: string;
}

const PATH = '/endpoints';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "ep_".' }),
  uri: Type.String({ description: 'URI of the endpoint.' }),
  region: Type.String({ description: 'Region that serves the endpoint.', examples: ['local'] }),
  created_at: timestamp('When the endpoint started, or when its edge was created.'),
  updated_at: timestamp('When the endpoint last changed. For an edge, when the edge was created.'),
  public_url: Type.String({ description: 'Public URL of the endpoint.', examples: ['https://shop.example.com'] }),
  url: Type.String({ description: 'The same as public_url.', examples: ['https://shop.example.com'] }),
  proto: Type.Enum(['http', 'https', 'tcp', 'tls'], { description: 'Its protocol.', examples: ['https'] }),
  scheme: Type.Enum(['http', 'https', 'tcp', 'tls'], { description: 'The same as proto.', examples: ['https'] }),
  hostport: Type.String({ description: 'Host and port of public_url.', examples: ['shop.example.com:443'] }),
  host: Type.String({ description: 'Host of public_url.', examples: ['shop.example.com'] }),
  port: Type.Integer({ description: 'Port of public_url.', examples: [443] }),
  type: Type.Enum(['ephemeral', 'edge'], {
    description: "Whether an agent's tunnel or an edge serves the endpoint.",
    examples: ['edge'],
  }),
  description: Type.String({
    description: 'Description of the edge; empty for a tunnel, and without the scope edges:read.',
  }),
  metadata: Type.String({
    description: 'Metadata of the tunnel or the edge; empty without the scope tunnels:read or edges:read.',
  }),
  entry_rules: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'What the agent demands of visitors, as short texts; empty: everybody may enter. Only for endpoints of agents, and with the scope tunnels:read.',
      examples: [["login at the server's identity host", 'access by ana@example.com']],
    }),
  ),
  tunnel: Type.Union([refSchema, Type.Null()], { description: 'The tunnel; null for an edge endpoint.' }),
  edge: reference(
    { kinds: ['https_edge'] },
    Type.Union([refSchema, Type.Null()], { description: 'The edge; null for an ephemeral endpoint.' }),
  ),
  ...unusedFields,
});

/** Public addresses served now: those of online tunnels, and each hostport of an edge. */
export const endpoints: LiveResource<EndpointPorts> = {
  type: 'live',
  name: 'endpoints',
  kind: 'endpoint',
  idPrefix: 'ep',
  path: PATH,
  listKey: 'endpoints',
  title: 'an endpoint',
  description: 'A public address served by an edge or a tunnel.',
  operations: liveReads<EdgeEndpoint, EndpointPorts>({
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
    render: (items, { principal }, ports) => items.map(({ id, doc }) => render(id, doc, principal, ports)),
    notFound: (id) => notOnline('endpoint', PATH, id),
  }),
};

function render(id: string, doc: JsonObject, { scopes }: Principal, ports: EndpointPorts): JsonObject {
  const { public_url: url = '', proto = '', hostport = '', tunnel_id: tunnelId, edge_id: edgeId } = doc;
  // These words are those of the edge or the tunnel.
  const words = coversScope(scopes, typeof edgeId === 'string' ? 'edges:read' : 'tunnels:read') ? doc : {};
  const [, host = '', port = '0'] = /^(.*):(\d+)$/s.exec(hostport as string) ?? [];
  return {
    ...ports.ref(id),
    region: doc['region'] ?? ports.region,
    created_at: doc['created_at'] ?? '',
    updated_at: doc['updated_at'] ?? doc['created_at'] ?? '',
    public_url: url,
    url,
    proto,
    scheme: proto,
    hostport,
    host,
    port: Number(port),
    type: doc['type'] ?? 'ephemeral',
    description: words['description'] ?? '',
    metadata: words['metadata'] ?? '',
    ...(words['entry_rules'] !== undefined && { entry_rules: words['entry_rules'] }),
    tunnel: typeof tunnelId === 'string' ? { ...ports.ref(tunnelId) } : null,
    edge: typeof edgeId === 'string' ? { ...ports.ref(edgeId) } : null,
    ...UNUSED_VALUES,
  };
}
