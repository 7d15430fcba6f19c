import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { LiveStreams } from '../../proxy/telemetry/live/live-streams.ts';
import type { SearchedWord } from '../../proxy/telemetry/requests/request-filter.ts';
import type { Authenticate, AuthenticationAttempt, Caller } from '../api/authentication.ts';
import { apiErrors } from '../api/errors.ts';
import { queryDecoder } from '../api/request-parts.ts';
import { resourceErrors } from '../resources/errors.ts';
import type { Principal } from '../resources/operation.ts';
import { coversScope, requireScopes } from '../resources/scopes.ts';

const MAX_TEXT = 256;
/** The scopes that each topic needs. */
const TOPICS: ReadonlyMap<string, readonly string[]> = new Map([
  ['overview', ['series:read', 'edges:read', 'nodes:read']],
  ['requests', ['requests:read']],
  ['tunnels', ['tunnels:read']],
  ['tunnel_traffic', ['tunnels:read', 'tunnel_sessions:read']],
  ['pulse', []],
]);
const DEFAULT_TOPICS = 'overview,requests,tunnels';
const QUERY = Type.Object(
  {
    topics: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    host: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    status: Type.Optional(Type.String({ pattern: '^(0|[1-5]([0-9][0-9]|xx))$' })),
    user: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    edge: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    q: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
  },
  { additionalProperties: false },
);

export interface LiveRoutesOptions {
  readonly streams: LiveStreams;
  readonly authenticate: Authenticate;
  /** See `SearchPort.callers`. */
  readonly searchedWords: (text: string, principal: Principal) => Promise<readonly SearchedWord[]>;
  /** The same caller again, without any effect; null when its key or session has ended. */
  readonly again: (attempt: AuthenticationAttempt) => Caller | null;
}

/** A stream of lines, since a page needs the headers of its session, which EventSource cannot send. */
export function addLiveRoutes(app: FastifyInstance, options: LiveRoutesOptions): void {
  const { streams, authenticate, again, searchedWords } = options;
  const decode = queryDecoder(QUERY);
  app.get('/live', { exposeHeadRoute: false }, async (request, reply) => {
    const { principal } = await authenticate(request);
    request.postern.apiKeyId = principal.apiKeyId;
    const { topics: text, host, status, user, edge, q } = decode(request.query as Record<string, unknown>);
    const topics = topicsOf(text);
    const scopes = [...topics].flatMap((topic) => TOPICS.get(topic) ?? []);
    requireScopes(principal, scopes);
    if (streams.isFull) throw tooMany('too many live views of this node are open: close some');
    if (streams.isFullFor(principal.apiKeyId)) throw tooMany('this key has too many open live views: close some');
    const words = q === undefined ? null : await searchedWords(q, principal);
    const attempt = attemptOf(request);
    reply.hijack();
    streams.open(reply.raw, {
      owner: principal.apiKeyId,
      topics,
      filter: {
        ...(host !== undefined && { host: host.toLowerCase() }),
        ...(status !== undefined && { status }),
        ...(user !== undefined && { user }),
        ...(edge !== undefined && { edge }),
        ...(words !== null && { words }),
      },
      isAllowed: () => {
        const now = again(attempt)?.principal.scopes;
        return now !== undefined && scopes.every((scope) => coversScope(now, scope));
      },
    });
  });
}

function tooMany(message: string): Error {
  return apiErrors.create('ERR_POSTERN_RATE_LIMITED', message, { headers: { 'retry-after': '30' } });
}

function topicsOf(text: string | undefined): ReadonlySet<string> {
  const topics = (text ?? DEFAULT_TOPICS).split(',').map((topic) => topic.trim());
  const unknown = topics.find((topic) => !TOPICS.has(topic));
  if (unknown === undefined) return new Set(topics);
  throw resourceErrors.create(
    'ERR_POSTERN_INVALID_QUERY',
    `topics must be a list of ${[...TOPICS.keys()].join(', ')}, separated by commas`,
    { details: { parameter: 'topics' } },
  );
}

/** Copied: the request itself need not stay in memory. */
function attemptOf({ method, headers, ip }: FastifyRequest): AuthenticationAttempt {
  return { method, headers: { ...headers }, ip };
}
