import Type from 'typebox';
import { edgeIdPrefixes, routeIdPrefixes } from '../../../edges/record-kinds.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { mapOf, refSchema } from '../../../kit/schema/annotations.ts';
import type { InstallationRequests } from '../../../proxy/telemetry/requests/installation-requests.ts';
import { resourceErrors } from '../errors.ts';
import { LIST_DESCRIPTION } from '../live-operations.ts';
import type { Operation } from '../operation.ts';
import { idParameter, nextPageUri, pageOf, pagingQuery } from '../paging.ts';
import type { SearchPort, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

/** A request as the API shows it: with references instead of ids. */
export function withRefs(request: JsonObject, ref: SharedPorts['ref']): JsonObject {
  const { edge, route } = request;
  const hasEdge = typeof edge === 'string';
  // An agent's endpoint is its own route.
  const hasRoute = hasEdge && typeof route === 'string' && route !== edge;
  return {
    ...request,
    edge: hasEdge ? { ...ref(edge) } : null,
    route: hasRoute ? { ...ref(route, edge) } : null,
  };
}

const nullable = (description: string, kind: 'String' | 'Number') =>
  Type.Union([kind === 'String' ? Type.String() : Type.Number(), Type.Null()], { description });
const nullableRef = (description: string) => Type.Union([refSchema, Type.Null()], { description });

const decision = Type.Object({
  module: Type.String({ description: 'The module; "edge", "backend" or "client" if no module ended the request.' }),
  decision: Type.Enum(['pass', 'refuse', 'answer'], {
    description: 'What it decided; answer: it redirected the request.',
  }),
  reason: Type.String({ description: 'Stable name of the reason, as in the access log and in metrics.' }),
  rule: Type.Optional(Type.String({ description: 'The configured rule that decided.' })),
  ms: Type.Optional(Type.Number({ description: 'Milliseconds it took, for a module that did not answer at once.' })),
});

/** A request that happened. */
const requestSchema = Type.Object({
  id: Type.String({ description: 'Id of the request: the value of Postern-Request-Id in its response.' }),
  at: timestamp('When the request started.'),
  node: Type.String({ description: 'Name of the node that served it.' }),
  method: nullable('Method; null if no request could be read.', 'String'),
  host: nullable(
    'Host without the port; null if no request could be read. A name that no site has is known from the TLS handshake alone.',
    'String',
  ),
  path: nullable('Path without the query, truncated at 1,024 characters.', 'String'),
  query: Type.Optional(Type.String({ description: 'The query, with the setting request_history_query.' })),
  status: Type.Integer({
    description:
      'Status of the response; 0 if there was none: the client left before it, or its TLS handshake named no site.',
  }),
  error_code: Type.Optional(Type.String({ description: 'Error code, for a response of the edge itself.' })),
  refused_by: Type.Optional(Type.String({ description: 'Module and reason that ended the request early.' })),
  answered_by: Type.Optional(Type.String({ description: 'Module and reason of a redirect.' })),
  edge: nullableRef('The edge, or the endpoint of an agent; null if no route matched.'),
  route: nullableRef('The route; null if none matched, and for the endpoint of an agent.'),
  client_address: Type.String({ description: 'IP address of the client.' }),
  user: Type.Optional(
    Type.String({ description: 'Id of the person, service account or guest link, or the subject of a workload.' }),
  ),
  user_kind: Type.Optional(Type.String({ description: '"user", "service_account", "workload" or "guest".' })),
  user_agent: Type.Optional(Type.String({ description: 'The User-Agent header, truncated at 512 characters.' })),
  headers: Type.Optional(
    mapOf(Type.String(), { description: 'Other headers that the setting request_history_headers lists.' }),
  ),
  duration_ms: Type.Number({ description: 'Milliseconds from the head of the request to the end of the response.' }),
  bytes_in: Type.Integer({ description: 'Bytes of the request body.' }),
  bytes_out: Type.Integer({ description: 'Bytes of the response body.' }),
  decisions: Type.Array(decision, { description: 'What each module decided, in the order in which they were asked.' }),
  target: Type.Optional(Type.String({ description: 'The last target that was tried: an address or a tunnel.' })),
  tunnel_node: Type.Optional(
    Type.String({ description: 'Name of the node that passed the request on to its agent, if it is another one.' }),
  ),
  timings: Type.Object(
    {
      admitted_ms: nullable('Until all modules had admitted it; null if they did not.', 'Number'),
      answered_ms: nullable('Until the response began; null if it never did.', 'Number'),
      finished_ms: Type.Number({ description: 'Until the response had ended.' }),
    },
    { description: 'Milliseconds since the start of the request.' },
  ),
});

const askedNodes = Type.Array(
  Type.Object({
    name: Type.String({ description: 'Name of the node.' }),
    answered: Type.Boolean({ description: 'Whether it answered: otherwise its requests are missing.' }),
    problem: Type.Optional(Type.String({ description: 'Why it did not answer.' })),
  }),
  { description: 'The nodes that were asked.' },
);

export interface RequestPorts extends Pick<SharedPorts, 'ref' | 'uri'> {
  /** Requests that the edges of all nodes have finished. */
  readonly requests: Pick<InstallationRequests, 'find' | 'list'>;
  readonly search: Pick<SearchPort, 'callers'>;
}

const PATH = '/requests';
const MAX_TEXT = 256;

const list: Operation<RequestPorts> = {
  resource: 'requests',
  verb: 'list',
  method: 'GET',
  path: PATH,
  summary: 'List requests',
  description: `The last requests that the edge of any node has finished. Each node keeps them in memory: the setting request_history says how many. Names that no site has are among them, with refused_by edge:no_site_for_this_name: the last 20 of each thread of a node, and at most 5 per second. ${LIST_DESCRIPTION}`,
  query: Type.Object(
    {
      ...pagingQuery('rq'),
      host: Type.Optional(Type.String({ maxLength: MAX_TEXT, description: 'Only requests for this host.' })),
      status: Type.Optional(
        Type.String({
          pattern: '^(0|[1-5]([0-9][0-9]|xx))$',
          description: 'Only requests with this status, such as 404, or a class such as 5xx. 0: without a response.',
        }),
      ),
      user: Type.Optional(
        Type.String({
          maxLength: MAX_TEXT,
          description: 'Only requests of this person, service account or guest link.',
        }),
      ),
      edge: Type.Optional(idParameter(edgeIdPrefixes, 'Only requests of this edge.')),
      route: Type.Optional(idParameter(routeIdPrefixes, 'Only requests of this route.')),
      q: Type.Optional(
        Type.String({
          maxLength: MAX_TEXT,
          description:
            'Only requests in which every word of this text occurs, in any case: in the host and path, at the start of the client address, in the error code, as the method, status or id, or in the name or email address of the user.',
        }),
      ),
      since: Type.Optional(timestamp('Only requests that finished at this time or later.')),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: Type.Object({
      requests: Type.Array(requestSchema, { description: 'The requests.' }),
      nodes: askedNodes,
      uri: Type.String({ description: 'URI of the list.' }),
      next_page_uri: Type.Union([Type.String(), Type.Null()], {
        description: 'URI of the next page; null on the last one.',
      }),
    }),
    description: 'A page, newest first.',
  },
  errors: ['ERR_POSTERN_INVALID_QUERY', 'ERR_POSTERN_INVALID_TIME'],
  run: async (request, ports) => {
    const { query } = request;
    const { host, status, user, edge, route, since, q } = query;
    const { beforeId, limit } = pageOf(query);
    const filter = {
      ...(beforeId !== null && { beforeId }),
      ...(host !== undefined && { host: host.toLowerCase() }),
      ...(status !== undefined && { status }),
      ...(user !== undefined && { user }),
      ...(edge !== undefined && { edge }),
      ...(route !== undefined && { route }),
      ...(q !== undefined && { words: await ports.search.callers(q, request) }),
      ...(since !== undefined && { sinceMs: timeOf(since) }),
    };
    const found = await ports.requests.list(filter, limit + 1);
    const shown = found.requests.slice(0, limit);
    const uri = ports.uri(PATH);
    const hasMore = found.requests.length > limit;
    return {
      body: {
        requests: shown.map((each) => withRefs(each, ports.ref)),
        nodes: found.nodes.map((node) => ({ ...node })),
        uri,
        next_page_uri: hasMore ? nextPageUri(uri, query, limit, shown.at(-1)?.id ?? '') : null,
      },
    };
  },
};

const get: Operation<RequestPorts> = {
  resource: 'requests',
  verb: 'get',
  method: 'GET',
  path: `${PATH}/{id}`,
  summary: 'Get a request',
  description:
    'A request that finished, by the Postern-Request-Id of its response. Returns 404 if no node that answers has it: it is still running, it is too old, or its node was stopped.',
  success: { status: 200, schema: requestSchema, description: 'The request.' },
  errors: ['ERR_POSTERN_NOT_FOUND'],
  run: async (request, ports) => {
    const id = request.params['id'] as string;
    const { requests, nodes } = await ports.requests.find(id);
    const [found] = requests;
    if (found !== undefined) return { body: withRefs(found, ports.ref) };
    const silent = nodes.filter(({ answered }) => !answered).map(({ name }) => name);
    const advice =
      silent.length === 0
        ? 'it is still running, it is too old (setting request_history), or its node was stopped'
        : `these nodes did not answer: ${silent.join(', ')}`;
    throw resourceErrors.create('ERR_POSTERN_NOT_FOUND', `no node has the request "${id.slice(0, 64)}": ${advice}`, {
      details: { id: id.slice(0, 64), nodes_without_answer: silent.join(', ') },
    });
  },
};

/** Requests that happened, from the memory of all nodes. */
export const requests: LiveResource<RequestPorts> = {
  type: 'live',
  name: 'requests',
  kind: 'request',
  idPrefix: 'rq',
  path: PATH,
  listKey: 'requests',
  title: 'a request',
  description: 'A request to the edge that has finished, with the decision of each module, its timings and its target.',
  operations: [list, get],
};

function timeOf(text: string): number {
  const ms = Date.parse(text);
  if (!Number.isNaN(ms) && /^\d{4}-\d\d-\d\dT/.test(text)) return ms;
  throw resourceErrors.create('ERR_POSTERN_INVALID_TIME', 'since must be a time such as 2026-11-01T00:00:00Z', {
    details: { field: 'since' },
  });
}
