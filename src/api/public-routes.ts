import type { FastifyInstance } from 'fastify';
import { accepts } from '../lib/accepted-value.ts';
import type { Authenticate } from './authentication.ts';

/** Pages that need no version header, and mostly no key. */
export interface PublicPages {
  health(): { readonly isReady: boolean; readonly state: string; readonly errorCode: string | null };
  /** With the store and the other nodes: `/healthz?verbose`. */
  verboseHealth(): object;
  openApiJson(): Promise<string>;
  openApiGzip(): Promise<Buffer>;
  docsHtml(): Promise<string>;
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Where a browser that opens / goes. */
  readonly startPath: string;
  /** Whether metrics are served without a key. */
  readonly areMetricsOpen: boolean;
}

export const publicRoutes = ['/', '/healthz', '/openapi.json', '/docs', '/metrics'].map((path) => ({
  method: 'GET',
  path,
}));

export function addPublicRoutes(app: FastifyInstance, pages: PublicPages, authenticate: Authenticate): void {
  app.get('/healthz', (request, reply) => {
    const { isReady, state, errorCode } = pages.health();
    const isVerbose = 'verbose' in (request.query as object);
    const short = { status: state, ...(errorCode !== null && { error_code: errorCode }) };
    return reply
      .code(isReady ? 200 : 503)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(isVerbose ? pages.verboseHealth() : short));
  });
  app.get('/openapi.json', async (request, reply) => {
    reply.type('application/json; charset=utf-8').header('vary', 'accept-encoding');
    if (!accepts(request.headers['accept-encoding'] as string | undefined, 'gzip')) {
      return reply.send(await pages.openApiJson());
    }
    return reply.header('content-encoding', 'gzip').send(await pages.openApiGzip());
  });
  app.get('/docs', async (_request, reply) =>
    reply
      .headers({
        'content-security-policy':
          "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      .type('text/html; charset=utf-8')
      .send(await pages.docsHtml()),
  );
  // Programs keep what they have always got.
  app.get('/', (request, reply) =>
    reply
      .header('vary', 'accept')
      .redirect(accepts(request.headers.accept, 'text/html') ? pages.startPath : '/docs', 302),
  );
  app.get('/metrics', async (request, reply) => {
    if (!pages.areMetricsOpen) await authenticate(request);
    const { contentType, text } = await pages.metrics();
    return reply.header('content-type', contentType).send(text);
  });
}
