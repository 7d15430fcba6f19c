import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { mapOf, type Ref, reference, refSchema } from '../../../kit/schema/annotations.ts';
import { hasLabels } from '../../../kit/text/labels.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { OperationRequest } from '../operation.ts';
import type { OnlineItem, ReadingPorts, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export type TunnelPorts = ReadingPorts & Pick<SharedPorts, 'online' | 'ref' | 'uri'>;

const PATH = '/tunnels';

type Labels = Readonly<Record<string, string>>;

/** Fields that do not apply are absent, not null. Requests with Ngrok-Version get `""`, which Rust's client needs. */
const tunnelSchema = Type.Object({
  id: Type.String({ description: 'Unique tunnel resource identifier.' }),
  public_url: Type.Optional(Type.String({ description: 'URL of the public endpoint of an ephemeral tunnel.' })),
  started_at: timestamp('When the tunnel started.'),
  metadata: Type.String({
    description:
      "Metadata of the tunnel from the agent's configuration; under Service-Version 0, of the agent's session.",
  }),
  proto: Type.Optional(Type.Enum(['http', 'https', 'tcp', 'tls'], { description: 'Protocol of an ephemeral tunnel.' })),
  region: Type.String({ description: 'Region where the tunnel runs.', examples: ['local'] }),
  tunnel_session: reference(
    { kinds: ['tunnel_session'] },
    { ...refSchema, description: 'The session that started the tunnel.' },
  ),
  endpoint: Type.Optional({ ...refSchema, description: 'The ephemeral endpoint, for an agent-initiated tunnel.' }),
  labels: Type.Optional(
    mapOf(Type.String(), {
      description: 'Labels of a backend tunnel.',
      examples: [{ app: 'shop' }],
    }),
  ),
  backends: Type.Optional(
    reference(
      { kinds: ['tunnel_group_backend'] },
      {
        ...refSchema,
        description:
          'The oldest tunnel group backend that this backend tunnel serves. Requests with Ngrok-Version get a list of all of them.',
      },
    ),
  ),
  forwards_to: Type.String({
    description: 'Address to which the agent forwards traffic: a URL or a network address.',
    examples: ['http://localhost:3000'],
  }),
});

/** Online tunnels: exactly those that would receive traffic. */
export const tunnels: LiveResource<TunnelPorts> = {
  type: 'live',
  name: 'tunnels',
  kind: 'tunnel',
  idPrefix: 'tn',
  path: PATH,
  listKey: 'tunnels',
  title: 'a tunnel',
  description: 'A tunnel that an agent keeps open. Only online tunnels are listed.',
  operations: liveReads<OnlineItem, TunnelPorts>({
    resource: 'tunnels',
    idPrefix: 'tn',
    path: PATH,
    listKey: 'tunnels',
    title: 'a tunnel',
    plural: 'online tunnels',
    schema: tunnelSchema,
    acceptsVersion0: true,
    list: (query, _request, { online }) => online.list('tunnel', query),
    get: (id, { online }) => online.get('tunnel', id),
    render: (items, request, ports) => items.map((item) => render(item, request, ports)),
    notFound: (id) => notOnline('online tunnel', PATH, id),
  }),
};

/** A tunnel's document contains `metadata` and, for version 0, `session_metadata`; the rest is as on the wire. */
function render(item: OnlineItem, request: OperationRequest, ports: TunnelPorts): JsonObject {
  const { doc } = item;
  const groups = doc['labels'] === undefined ? [] : groupsServedBy(doc['labels'] as Labels, ports);
  const [oldest] = groups;
  return {
    id: item.id,
    ...shownText(doc, 'public_url', request),
    started_at: doc['started_at'] ?? '',
    metadata: (request.version === 0 ? doc['session_metadata'] : doc['metadata']) ?? '',
    ...shownText(doc, 'proto', request),
    region: doc['region'] ?? '',
    tunnel_session: { ...ports.ref(item.parent ?? '') },
    ...(typeof doc['endpoint_id'] === 'string' && { endpoint: { ...ports.ref(doc['endpoint_id']) } }),
    ...present(doc, 'labels'),
    ...(oldest !== undefined && {
      backends: request.isLegacyClient ? groups.map((group) => ({ ...group })) : { ...oldest },
    }),
    forwards_to: doc['forwards_to'] ?? '',
  };
}

/** Oldest first. */
function groupsServedBy(labels: Labels, ports: TunnelPorts): readonly Ref[] {
  const all = ports.documents.reader.page('tunnel_group_backend', { beforeId: null, limit: Number.MAX_SAFE_INTEGER });
  return all
    .filter((group) => hasLabels(labels, group.doc['labels'] as Labels))
    .map((group) => ports.ref(group.id))
    .reverse();
}

function shownText(doc: JsonObject, name: string, { isLegacyClient }: OperationRequest): JsonObject {
  return { ...(isLegacyClient && { [name]: '' }), ...present(doc, name) };
}

function present(doc: JsonObject, name: string): JsonObject {
  const value = doc[name];
  return value === undefined || value === null ? {} : { [name]: value };
}
