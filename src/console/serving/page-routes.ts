import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiErrors } from '../../api/errors.ts';
import { accepts } from '../../lib/http/accepted-value.ts';
import { consoleErrors } from '../errors.ts';
import type { ConsoleFile, ConsoleFiles } from './console-files.ts';
import { sendErrorPage } from './error-page.ts';
import { PAGE_HEADERS } from './page-headers.ts';

const PAGE = 'index.html';
const BUILD_COMMAND = 'npm run build:console';
/** Hashed names: another content has another name. */
const IMMUTABLE = 'public, max-age=31536000, immutable';
/** Addresses that a browser visits and that are not the page. */
const NOT_THE_PAGE = /^\/console\/(?:assets\/|login$|callback$|enter$)/;

/** The page, its scripts and styles. Every other address below /console is the page too, which reads its own address. */
export function addPageRoutes(app: FastifyInstance, files: ConsoleFiles): void {
  const page = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const file = files.all?.get(PAGE);
    return file === undefined ? sendNotBuilt(request, reply) : sendFile(request, reply, file, 'no-cache');
  };
  app.get('/console', page);
  app.get('/console/*', page);
  app.get('/console/assets/*', (request, reply) => {
    const built = files.all;
    if (built === null) return sendNotBuilt(request, reply);
    const file = built.get(`assets/${(request.params as { '*': string })['*']}`);
    if (file === undefined) {
      throw apiErrors.create('ERR_POSTERN_UNKNOWN_PATH', 'the console has no such file: reload the page');
    }
    return sendFile(request, reply, file, IMMUTABLE);
  });
}

/** Some addresses of the page are addresses of the API too: a browser that visits one, or reloads, gets the page. */
export function pageUrl({ method, url = '', headers }: IncomingMessage): string {
  if (method !== 'GET' || headers['sec-fetch-mode'] !== 'navigate' || !url.startsWith('/console/')) return url;
  return NOT_THE_PAGE.test(url.split('?')[0] ?? '') ? url : '/console';
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile, caching: string): FastifyReply {
  const wanted = request.headers['accept-encoding'] as string | undefined;
  const [encoding, bytes] = [...file.encoded].find(([name]) => accepts(wanted, name)) ?? [null, file.bytes];
  return reply
    .headers({ ...PAGE_HEADERS, 'cache-control': caching, vary: 'accept-encoding' })
    .headers(encoding === null ? {} : { 'content-encoding': encoding })
    .type(file.type)
    .send(bytes);
}

function sendNotBuilt(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = consoleErrors.create(
    'ERR_POSTERN_CONSOLE_NOT_BUILT',
    `the console is not built: run "npm ci" and "${BUILD_COMMAND}" in the checkout, and reload`,
  );
  if (!accepts(request.headers.accept, 'text/html')) throw error;
  return sendErrorPage(reply, error, { title: 'The console is not built' });
}
