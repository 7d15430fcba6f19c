import type { IncomingMessage } from 'node:http';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PosternError } from '../../kit/errors.ts';
import { accepts } from '../../kit/http/header-values.ts';
import { escapedHtml, PAGE_STYLE_SOURCE, type PlainPage, plainPage } from '../../kit/http/plain-page.ts';
import { readProgramBytes } from '../../kit/program-files.ts';
import { apiErrors } from '../api/errors.ts';
import { consoleErrors } from './errors.ts';

const PAGE = 'index.html';
const BUILD_COMMAND = 'npm run build:console';
/** Hashed names: another content has another name. */
const IMMUTABLE = 'public, max-age=31536000, immutable';
/** Addresses that a browser visits and that are not the page. */
const NOT_THE_PAGE = /^\/console\/(?:assets\/|login$|callback$|enter$)/;

/**
 * The page, its scripts and styles. Every other address below /console is the page too, which reads its own address.
 */
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

const FOLDER = '../console/dist';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
};
/** The smallest first. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Precompressed, by the name in Content-Encoding, the smallest first. */
  readonly encoded: ReadonlyMap<string, Buffer>;
}

/**
 * The built page, in memory: about half a megabyte. Only files that the manifest names are served, so no request can
 * reach another one.
 */
export class ConsoleFiles {
  readonly #read: (path: string) => Buffer | null;
  #files: ReadonlyMap<string, ConsoleFile> | null = null;

  constructor(read: (path: string) => Buffer | null = (path) => readProgramBytes(`${FOLDER}/${path}`)) {
    this.#read = read;
  }

  /** By path below the folder; null while the console is not built. It is looked for again until it is there. */
  get all(): ReadonlyMap<string, ConsoleFile> | null {
    this.#files ??= this.#load();
    return this.#files;
  }

  #load(): ReadonlyMap<string, ConsoleFile> | null {
    const manifest = this.#read('manifest.json');
    if (manifest === null) return null;
    const { files } = JSON.parse(manifest.toString()) as { files: readonly string[] };
    const bytes = new Map<string, Buffer>();
    for (const path of files) {
      const found = this.#read(path);
      // A build is replacing it: the next request looks again.
      if (found === null) return null;
      bytes.set(path, found);
    }
    const isEncoded = (path: string): boolean => ENCODINGS.some(({ suffix }) => path.endsWith(suffix));
    return new Map(
      [...bytes]
        .filter(([path]) => !isEncoded(path))
        .map(([path, plain]) => [
          path,
          { type: TYPES[extname(path)] ?? 'application/octet-stream', bytes: plain, encoded: encodedOf(path, bytes) },
        ]),
    );
  }
}

function encodedOf(path: string, bytes: ReadonlyMap<string, Buffer>): ReadonlyMap<string, Buffer> {
  return new Map(
    ENCODINGS.flatMap(({ name, suffix }) => {
      const found = bytes.get(path + suffix);
      return found === undefined ? [] : [[name, found] as const];
    }),
  );
}

/** No inline code, nothing from elsewhere, no frames. Text from the network cannot become HTML or code. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const UNUSED_FEATURES = ['camera', 'geolocation', 'microphone', 'payment', 'usb', 'display-capture', 'serial', 'hid'];

/** Headers for every response below /console that a browser may show or run. */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'permissions-policy': UNUSED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

interface ErrorPageText {
  readonly title: string;
  readonly link?: { readonly href: string; readonly text: string };
}

/** An error for a person in a browser, without any script. */
export function sendErrorPage(reply: FastifyReply, error: PosternError, { title, link }: ErrorPageText): FastifyReply {
  const sentence = `${error.message.slice(0, 1).toUpperCase()}${error.message.slice(1)}.`;
  const action =
    link === undefined ? '' : `<p><a class="button" href="${escapedHtml(link.href)}">${escapedHtml(link.text)}</a></p>`;
  const body = `<p>${escapedHtml(sentence)}</p>${action}`;
  const answer = reply.code(error.status).headers(error.headers);
  return sendPage(answer, { title, body, footer: `<code>${error.code}</code>` });
}

/** A page without any script, and without a form unless it has one. */
export function sendPage(reply: FastifyReply, page: PlainPage, { hasForm = false } = {}): FastifyReply {
  const forms = hasForm ? "'self'" : "'none'";
  const policy = `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; base-uri 'none'; form-action ${forms}; frame-ancestors 'none'`;
  return reply
    .headers({ ...PAGE_HEADERS, 'cache-control': 'no-store', 'content-security-policy': policy })
    .type('text/html; charset=utf-8')
    .send(plainPage(page));
}
