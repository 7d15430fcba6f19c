import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { accepts } from '../../kit/http/header-values.ts';
import { hasScope, READ_METRICS, requireScopes } from '../resources/scopes.ts';
import { OPEN_METRICS_TYPE, openMetricsText, prefersOpenMetrics } from './api-metrics.ts';
import type { Authenticate } from './authentication.ts';
import type { BuiltDocument } from './docs/documentation.ts';
import type { GzipResponses } from './operation-route.ts';
import { entityTags } from './request-parts.ts';

/** Pages that need no version header, and mostly no key. */
export interface PublicPages {
  health(): { readonly isReady: boolean; readonly state: string; readonly errorCode: string | null };
  /** With the store: `/healthz?verbose`. With the other nodes for a key that may read them. */
  verboseHealth(showsPeers: boolean): object;
  openApi(): Promise<BuiltDocument>;
  docs(): Promise<BuiltDocument>;
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Where a browser that opens / goes. */
  readonly startPath: string;
  /** Whether metrics are served without a key. Otherwise it needs `metrics:read`. */
  readonly areMetricsOpen: boolean;
}

export const publicRoutes = ['/', '/healthz', '/openapi.json', '/docs', '/metrics'].map((path) => ({
  method: 'GET',
  path,
}));

export interface PublicRouteTools {
  readonly authenticate: Authenticate;
  readonly gzip: GzipResponses;
}

export function addPublicRoutes(
  app: FastifyInstance,
  pages: PublicPages,
  { authenticate, gzip }: PublicRouteTools,
): void {
  /** Never refused: whether a server is healthy must not depend on a key. */
  const showsPeers = async (request: FastifyRequest): Promise<boolean> => {
    if (request.headers.authorization === undefined && request.headers.cookie === undefined) return false;
    try {
      return hasScope((await authenticate(request)).principal, 'nodes:read');
    } catch {
      return false;
    }
  };
  app.get('/healthz', async (request, reply) => {
    const { isReady, state, errorCode } = pages.health();
    const isVerbose = 'verbose' in (request.query as object);
    const short = { status: state, ...(errorCode !== null && { error_code: errorCode }) };
    return reply
      .code(isReady ? 200 : 503)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(isVerbose ? pages.verboseHealth(await showsPeers(request)) : short));
  });
  app.get('/openapi.json', async (request, reply) =>
    sendDocument(request, reply.type('application/json; charset=utf-8'), await pages.openApi()),
  );
  app.get('/docs', async (request, reply) =>
    sendDocument(
      request,
      reply
        .headers({
          'content-security-policy':
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
        })
        .type('text/html; charset=utf-8'),
      await pages.docs(),
    ),
  );
  // Programs keep what they have always got.
  app.get('/', (request, reply) =>
    reply
      .header('vary', 'accept')
      .redirect(accepts(request.headers.accept, 'text/html') ? pages.startPath : '/docs', 302),
  );
  app.get('/metrics', async (request, reply) => {
    if (!pages.areMetricsOpen) {
      // These documents tell that the database is away: then above all they must be readable.
      const { headers, ip, method } = request;
      const { principal } = await authenticate({ headers, ip, method, mayBeRevoked: true });
      requireScopes(principal, [READ_METRICS]);
    }
    const { contentType, text: plain } = await pages.metrics();
    const isOpen = prefersOpenMetrics(request.headers.accept);
    const text = isOpen ? openMetricsText(plain) : plain;
    const bytes = await gzip.compress(text, request.headers);
    reply.headers({ 'content-type': isOpen ? OPEN_METRICS_TYPE : contentType, vary: 'accept, accept-encoding' });
    return bytes === null ? reply.send(text) : reply.header('content-encoding', 'gzip').send(bytes);
  });
}

/** The same for everybody until the program is replaced: a client may keep it, and asks whether it is current. */
function sendDocument(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { text, gzip, etag }: BuiltDocument,
): FastifyReply {
  reply.headers({ etag, vary: 'accept-encoding', 'cache-control': 'no-cache' });
  if (entityTags(headers['if-none-match'] ?? '')?.includes(etag) === true) return reply.code(304).send();
  if (!accepts(headers['accept-encoding'] as string | undefined, 'gzip')) return reply.send(text);
  return reply.header('content-encoding', 'gzip').send(gzip);
}
