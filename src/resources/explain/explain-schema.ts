import Type from 'typebox';
import { reference, refSchema } from '../../lib/schema/annotations.ts';
import { mapOf } from '../../lib/schema/map-of.ts';

const nullableRef = (description: string) => Type.Union([refSchema, Type.Null()], { description });

export const questionSchema = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 8_192,
      description: 'URL of the request, http or https. Its path is used as it is written.',
    }),
    method: Type.Optional(
      Type.String({ pattern: '^[A-Z]{1,32}$', description: 'Method, in upper case. Default: GET.' }),
    ),
    headers: Type.Optional(
      mapOf(
        Type.Union(
          [Type.String({ maxLength: 8_192 }), Type.Array(Type.String({ maxLength: 8_192 }), { maxItems: 20 })],
          { description: 'The values of the header, one per line. A single value can be sent without the list.' },
        ),
        {
          maxProperties: 100,
          description: 'Request headers: name and list of values. Cookies and tokens count as they do in traffic.',
        },
      ),
    ),
    address: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'IP address of the client, or of the proxy in front of it. Default: 127.0.0.1.',
      }),
    ),
    client_certificate_pem: Type.Optional(
      Type.String({
        maxLength: 65_536,
        description: 'Client certificate in PEM, followed by its intermediates: at most 16 certificates.',
      }),
    ),
    as: Type.Optional(
      Type.Union(
        [
          Type.Object(
            {
              email: Type.String({
                maxLength: 320,
                description: 'Email address; it counts as verified. May be empty.',
              }),
              claims: Type.Optional(
                mapOf(Type.Unknown(), { maxProperties: 100, description: 'Claims of the provider.' }),
              ),
            },
            { additionalProperties: false },
          ),
          Type.Null(),
        ],
        { default: null, description: 'A person who is logged in on the route, whether or not they ever were.' },
      ),
    ),
  },
  { additionalProperties: false },
);

const decision = Type.Object({
  module: Type.String({ description: 'The module; "edge" or "backend" for other parts.' }),
  decision: Type.Enum(['pass', 'refuse', 'answer', 'skipped'], {
    description: 'What it decides; answer: it redirects the request; skipped: it is not asked.',
  }),
  reason: Type.String({ description: 'Stable name of the reason, as in the access log and in metrics.' }),
  rule: Type.Optional(Type.String({ description: 'The configured rule that decides.' })),
  text: Type.String({ description: 'The reason for people.' }),
});

const target = Type.Object({
  name: Type.String({ description: 'Address of an upstream, or id of a tunnel.' }),
  kind: Type.Enum(['upstream', 'tunnel', 'response'], { description: 'response: the edge answers itself.' }),
  node: Type.Optional(Type.String({ description: 'Node that the agent is connected to, if it is another one.' })),
  forwards_to: Type.Optional(Type.String({ description: 'Where the agent forwards to.' })),
});

export const explanationSchema = Type.Object({
  edge: nullableRef('The edge, or the endpoint of an agent; null if none has the host.'),
  route: nullableRef('The route; null if none matches, and for the endpoint of an agent.'),
  candidates: Type.Array(
    Type.Object({
      route: reference({ kinds: ['https_edge_route'] }, { ...refSchema, description: 'Another route of the edge.' }),
      why_not: Type.String({ description: 'Why it does not serve the request.' }),
    }),
    { description: 'The other routes of the edge.' },
  ),
  decisions: Type.Array(decision, { description: 'What each module decides, in the order in which they are asked.' }),
  outcome: Type.Object(
    {
      status: Type.Optional(
        Type.Integer({
          description: 'Status of the response. Absent: an upstream decides it, or there is no response.',
        }),
      ),
      error_code: Type.Optional(Type.String({ description: 'Error code, if the edge refuses the request.' })),
      location: Type.Optional(Type.String({ description: 'Where a redirect leads.' })),
      targets: Type.Array(target, { description: 'Everything that may get the request: weights and load decide.' }),
      node: Type.Optional(Type.String({ description: 'Node that explained it: others may have other tunnels.' })),
    },
    { description: 'What the client gets.' },
  ),
  upstream_request: Type.Union(
    [
      Type.Object({
        headers_added: mapOf(Type.String(), {
          description:
            'Headers that the upstream gets beside those of the client. Assertions appear as unsigned claims.',
        }),
        headers_removed: Type.Array(Type.String(), { description: 'Client headers that the upstream does not get.' }),
        target: Type.Optional(Type.String({ description: 'Path and query that the upstream gets, if they change.' })),
      }),
      Type.Null(),
    ],
    { description: 'How the request changes on its way to the upstream; null if nothing is forwarded.' },
  ),
});
