import Type from 'typebox';
import { refSchema } from '../../lib/schema/annotations.ts';
import { mapOf } from '../../lib/schema/map-of.ts';
import { timestamp } from '../resource.ts';

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
export const requestSchema = Type.Object({
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

export const askedNodes = Type.Array(
  Type.Object({
    name: Type.String({ description: 'Name of the node.' }),
    answered: Type.Boolean({ description: 'Whether it answered: otherwise its requests are missing.' }),
    problem: Type.Optional(Type.String({ description: 'Why it did not answer.' })),
  }),
  { description: 'The nodes that were asked.' },
);
