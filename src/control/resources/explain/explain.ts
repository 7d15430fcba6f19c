import { isIP } from 'node:net';
import Type from 'typebox';
import { routeRecordKinds } from '../../../edges/record-kinds.ts';
import { PosternError } from '../../../kit/errors.ts';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { withoutRootDot } from '../../../kit/net/host-name.ts';
import { certificatesIn, legacyCertificate } from '../../../kit/pki/describe-certificate.ts';
import { mapOf, reference, refSchema } from '../../../kit/schema/annotations.ts';
import type { Operation } from '../operation.ts';
import type { SharedPorts } from '../ports.ts';
import type { LiveResource } from '../resource.ts';

const nullableRef = (description: string) => Type.Union([refSchema, Type.Null()], { description });

const questionSchema = Type.Object(
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

const explanationSchema = Type.Object({
  edge: nullableRef('The edge, or the endpoint of an agent; null if none has the host.'),
  route: nullableRef('The route; null if none matches, and for the endpoint of an agent.'),
  match: Type.Union([Type.String(), Type.Null()], { description: 'Path of the route; null without one.' }),
  candidates: Type.Array(
    Type.Object({
      route: reference({ kinds: routeRecordKinds }, { ...refSchema, description: 'Another route of the edge.' }),
      match: Type.String({ description: 'Its path.' }),
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

export interface ExplainPorts extends Pick<SharedPorts, 'ref'> {
  /** What the edge of this node would do with a request. */
  readonly explain: (question: HypotheticalRequest) => Promise<ExplainedRequest>;
}

const PATH = '/explain';
const PEM = 'client_certificate_pem';
/** As many as the edge reads of a client. */
const MAX_CERTIFICATES = 16;
const URL_FORM = /^(https?):\/\/([^/?#\s@]+)([^#\s]*)(#.*)?$/i;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** An explanation shows all of this, or lets somebody find it out by asking again and again. */
const EXPLAIN_SCOPES: readonly string[] = [
  'explain:read',
  'edges:read',
  'backends:read',
  'ip_policies:read',
  'certificate_authorities:read',
  'service_accounts:read',
  'tunnels:read',
  'nodes:read',
  // The claims that logins brought.
  'app:read',
];

const request: Operation<ExplainPorts> = {
  resource: 'explain',
  verb: 'request',
  method: 'POST',
  path: PATH,
  scopes: EXPLAIN_SCOPES,
  summary: 'Explain a request',
  description:
    'Runs a request that nobody has sent through the code of traffic: which route it takes, what each module decides and why, which targets it may get. Nothing is sent, fetched, stored, counted or signed. The key needs the scopes of all that this shows: edges, backends, IP policies, certificate authorities, service accounts, tunnels, nodes and logins (app:read). The claims of a person in "as" are those of the person\'s last login there; otherwise described ones count as far as the last logins brought such claims.',
  body: {
    schema: questionSchema,
    example: {
      url: 'https://shop.example.com/admin?tab=1',
      method: 'GET',
      headers: { accept: ['text/html'] },
      address: '203.0.113.7',
      as: { email: 'ada@example.com', claims: { groups: ['ops'] } },
    },
  },
  success: { status: 200, schema: explanationSchema, description: 'The explanation.' },
  errors: ['ERR_POSTERN_INVALID_BODY'],
  run: async ({ body }, ports) => {
    const explained = await ports.explain({
      url: urlOf(body['url'] as string),
      method: (body['method'] ?? 'GET') as string,
      headers: headersOf((body['headers'] ?? {}) as JsonObject),
      address: addressOf(body['address']),
      clientCertificatePem: pemOf(body[PEM]),
      as: personOf(body['as']),
    });
    return { body: rendered(explained, ports) };
  },
};

/** Why a request would be answered as it would. */
export const explain: LiveResource<ExplainPorts> = {
  type: 'live',
  name: 'explain',
  kind: 'explanation',
  idPrefix: '',
  path: PATH,
  listKey: '',
  title: 'an explanation',
  description: 'What the edge would do with a request, and why.',
  operations: [request],
};

function rendered(explained: ExplainedRequest, ports: ExplainPorts): JsonObject {
  const { edgeId, routeId, match, candidates, decisions, outcome, upstreamRequest, node } = explained;
  return {
    edge: edgeId === null ? null : { ...ports.ref(edgeId) },
    route: edgeId === null || routeId === null ? null : { ...ports.ref(routeId, edgeId) },
    match,
    candidates: candidates.map((each) => ({
      route: { ...ports.ref(each.routeId, edgeId ?? undefined) },
      match: each.match,
      why_not: each.whyNot,
    })),
    decisions: decisions.map((decision) => ({ ...decision })),
    outcome: {
      ...(outcome.status !== undefined && { status: outcome.status }),
      ...(outcome.errorCode !== undefined && { error_code: outcome.errorCode }),
      ...(outcome.location !== undefined && { location: outcome.location }),
      targets: outcome.targets.map(({ forwardsTo, ...target }) => ({
        ...target,
        ...(forwardsTo !== undefined && { forwards_to: forwardsTo }),
      })),
      node,
    },
    upstream_request:
      upstreamRequest === null
        ? null
        : {
            headers_added: upstreamRequest.headersAdded,
            headers_removed: upstreamRequest.headersRemoved,
            ...(upstreamRequest.target !== undefined && { target: upstreamRequest.target }),
          },
  };
}

/** Not with `URL`, which would resolve dots and escapes that the edge must see. */
function urlOf(text: string) {
  const [, scheme = '', authority = '', rest = ''] = URL_FORM.exec(text) ?? [];
  if (scheme === '') throw invalid('url', 'url must be an absolute http or https URL, such as https://example.com/a');
  return {
    scheme: scheme.toLowerCase() as 'http' | 'https',
    authority,
    host: withoutRootDot(authority).replace(/:\d*$/, '').toLowerCase(),
    target: rest.startsWith('/') ? rest : `/${rest}`,
  };
}

function headersOf(headers: JsonObject): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const lines = (Array.isArray(value) ? value : [value]) as readonly string[];
    if (!HEADER_NAME.test(name))
      throw invalid('headers', `headers has a name that is not a header's: ${JSON.stringify(name)}`);
    if (lines.some((line) => !HEADER_VALUE.test(line)))
      throw invalid('headers', `headers has a value with forbidden characters for ${name}`);
    return lines.flatMap((line) => [name, line.trim()]);
  });
}

function addressOf(value: JsonValue | undefined): string {
  if (value === undefined) return '127.0.0.1';
  if (isIP(value as string) === 0) throw invalid('address', 'address must be an IP address, such as 203.0.113.7');
  return value as string;
}

function pemOf(value: JsonValue | undefined): string | null {
  if (value === undefined) return null;
  const count = readableCertificates(value as string);
  if (count === 0) throw invalid(PEM, `${PEM} must have at least one certificate in PEM, with a key of a known type`);
  if (count > MAX_CERTIFICATES)
    throw invalid(PEM, `${PEM} has ${count} certificates; send at most ${MAX_CERTIFICATES}`);
  return value as string;
}

/** 0: not readable. */
function readableCertificates(pem: string): number {
  try {
    // The runtime throws when it reads a key of a type that OpenSSL does not know.
    return certificatesIn(pem).filter((certificate) => legacyCertificate(certificate) && certificate.publicKey).length;
  } catch {
    return 0;
  }
}

function personOf(value: JsonValue | undefined) {
  if (value === undefined || value === null) return null;
  const { email, claims = {} } = value as JsonObject;
  return { email: email as string, claims: claims as JsonObject };
}

function invalid(field: string, message: string): Error {
  return new PosternError('ERR_POSTERN_INVALID_BODY', 400, message, { details: { field: `/${field}` } });
}

/** A request that nobody has sent. */
export interface HypotheticalRequest {
  readonly url: {
    readonly scheme: 'http' | 'https';
    readonly authority: string;
    readonly host: string;
    readonly target: string;
  };
  readonly method: string;
  /** Flat: names and values in turn. */
  readonly headers: readonly string[];
  readonly address: string;
  readonly clientCertificatePem: string | null;
  readonly as: { readonly email: string; readonly claims: JsonObject } | null;
}

export interface ExplainedRequest {
  readonly edgeId: string | null;
  readonly routeId: string | null;
  readonly match: string | null;
  readonly candidates: readonly { readonly routeId: string; readonly match: string; readonly whyNot: string }[];
  readonly decisions: readonly {
    readonly module: string;
    readonly decision: 'pass' | 'refuse' | 'answer' | 'skipped';
    readonly reason: string;
    readonly rule?: string;
    readonly text: string;
  }[];
  readonly outcome: {
    readonly status?: number;
    readonly errorCode?: string;
    readonly location?: string;
    readonly targets: readonly {
      readonly name: string;
      readonly kind: string;
      readonly node?: string;
      readonly forwardsTo?: string;
    }[];
  };
  readonly upstreamRequest: {
    readonly headersAdded: JsonObject;
    readonly headersRemoved: readonly string[];
    readonly target?: string;
  } | null;
  /** Name of the node that explained it. */
  readonly node: string;
}
