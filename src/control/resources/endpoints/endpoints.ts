import { hash } from 'node:crypto';
import type { TProperties } from 'typebox';
import Type from 'typebox';
import { edgeRecordKindOf } from '../../../edges/edge-kind.ts';
import { edgeRecordKinds, type StoredEdgeKind, storedEdgeKinds } from '../../../edges/record-kinds.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { reference, refSchema } from '../../../kit/schema/annotations.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { StoredRecord } from '../../../store/store.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { Principal } from '../operation.ts';
import type { ReadingPorts, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';
import { coversScope } from '../scopes.ts';

const EDGES_AT_ONCE = 100;
const LAST_SECOND = 2n ** 32n - 1n;

/** The same fields as a lease, from which the other endpoints are made. */
interface EdgeEndpoint {
  readonly id: string;
  readonly doc: JsonObject;
}

/**
 * A page of the hostports of all edges, newest first. Edges are ordered by age and an endpoint has its edge's second,
 * so the walk ends with the second in which the page is full: its cost does not grow with the number of edges.
 */
function pageOfEdgeEndpoints(
  reader: RecordReader,
  { beforeId, limit }: { readonly beforeId: string | null; readonly limit: number },
): readonly EdgeEndpoint[] {
  const found: EdgeEndpoint[] = [];
  for (const kind of storedEdgeKinds) {
    const enough = found.length + limit;
    let lastSecond: bigint | null = null;
    for (const edge of edgesUpTo(kind, reader, beforeId === null ? null : secondsOf(beforeId))) {
      const { second, endpoints } = endpointsOf(kind, edge);
      if (found.length >= enough && second !== lastSecond) break;
      lastSecond = second;
      for (const endpoint of endpoints) if (beforeId === null || endpoint.id < beforeId) found.push(endpoint);
    }
  }
  return found.sort(newestFirst).slice(0, limit);
}

function findEdgeEndpoint(reader: RecordReader, id: string): EdgeEndpoint | null {
  const second = secondsOf(id);
  if (second === null) return null;
  for (const kind of storedEdgeKinds)
    for (const edge of edgesUpTo(kind, reader, second)) {
      const of = endpointsOf(kind, edge);
      if (of.second !== second) break;
      const found = of.endpoints.find((endpoint) => endpoint.id === id);
      if (found !== undefined) return found;
    }
  return null;
}

function newestFirst(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? 1 : -1;
}

/**
 * Newest first, starting at the end of a second; null: all. A KSUID counts seconds in 32 bits, and 27 characters hold
 * more.
 */
function* edgesUpTo(kind: StoredEdgeKind, reader: RecordReader, second: bigint | null): Generator<StoredRecord> {
  let beforeId = second === null || second >= LAST_SECOND ? null : firstIdOf(kind.api.idPrefix, second + 1n);
  for (;;) {
    const edges = reader.page(edgeRecordKindOf(kind), { beforeId, limit: EDGES_AT_ONCE });
    yield* edges;
    if (edges.length < EDGES_AT_ONCE) return;
    beforeId = edges.at(-1)?.id ?? null;
  }
}

interface EndpointsOfEdge {
  readonly second: bigint | null;
  readonly endpoints: readonly EdgeEndpoint[];
}

/**
 * By the edge's document, which a change replaces. An id takes 10 µs, and edges of one changeset share their second: a
 * search among the endpoints of 10,000 edges made 250,000 ids, in 2.8 s.
 */
const known = new WeakMap<JsonObject, EndpointsOfEdge>();

function endpointsOf({ name, api }: StoredEdgeKind, { id: edgeId, doc }: StoredRecord): EndpointsOfEdge {
  const found = known.get(doc);
  if (found !== undefined) return found;
  const endpoints = (doc['hostports'] as readonly string[]).map((hostport) => ({
    id: endpointId(edgeId, hostport),
    doc: {
      created_at: doc['created_at'] ?? '',
      public_url: api.publicUrl(hostport),
      proto: name,
      hostport,
      type: 'edge',
      description: doc['description'] ?? '',
      metadata: doc['metadata'] ?? '',
      edge_id: edgeId,
    },
  }));
  const made = { second: secondsOf(edgeId), endpoints };
  known.set(doc, made);
  return made;
}

/** Fields of the retired service that Postern has no use for: clients in Rust and Python fail without them. */
const unusedFields = {
  name: Type.String({ description: 'Always empty: endpoints have no names.' }),
  upstream_url: Type.String({ description: 'Always empty: see forwards_to of the tunnel.' }),
  upstream_protocol: Type.String({ description: 'Always empty: see forwards_to of the tunnel.' }),
  traffic_policy: Type.String({ description: 'Always empty: modules take its place.' }),
  bindings: Type.Array(Type.String(), { description: 'Always ["public"].', examples: [['public']] }),
  pooling_enabled: Type.Boolean({ description: 'Always false.' }),
  domain: Type.Null({ description: 'Always null: endpoints need no reserved domain.' }),
  tcp_addr: Type.Null({ description: 'Always null: addresses are not reserved.' }),
  principal: Type.Null({ description: 'Always null: endpoints have no owner.' }),
  tunnel_session: Type.Null({ description: 'Always null: see tunnel_session of the tunnel.' }),
} satisfies TProperties;

export const UNUSED_VALUES: JsonObject = {
  name: '',
  upstream_url: '',
  upstream_protocol: '',
  traffic_policy: '',
  bindings: ['public'],
  pooling_enabled: false,
  domain: null,
  tcp_addr: null,
  principal: null,
  tunnel_session: null,
};

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
    { kinds: edgeRecordKinds },
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

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KSUID_LENGTH = 27;
const PAYLOAD_BITS = 128n;

/** Seconds in the KSUID of an id, on the KSUID's own scale; null when the text is not an id. */
function secondsOf(id: string): bigint | null {
  const [, text] = /^[a-z]+_([0-9A-Za-z]{27})$/.exec(id) ?? [];
  if (text === undefined) return null;
  let number = 0n;
  for (const digit of text) number = number * 62n + BigInt(ALPHABET.indexOf(digit));
  return number >> PAYLOAD_BITS;
}

/** The lowest id of a second. */
function firstIdOf(prefix: string, seconds: bigint): string {
  return `${prefix}_${base62(seconds << PAYLOAD_BITS)}`;
}

/**
 * An edge's hostport has no record but needs a stable id: the edge's second, so that order by id is order by age, and a
 * hash of edge and hostport.
 */
function endpointId(edgeId: string, hostport: string): string {
  const payload = BigInt(`0x${hash('sha256', `${edgeId} ${hostport}`, 'hex').slice(0, 32)}`);
  return `ep_${base62(((secondsOf(edgeId) ?? 0n) << PAYLOAD_BITS) | payload)}`;
}

function base62(number: bigint): string {
  let text = '';
  for (let rest = number; text.length < KSUID_LENGTH; rest /= 62n) text = ALPHABET.charAt(Number(rest % 62n)) + text;
  return text;
}
