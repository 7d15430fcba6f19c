import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { PosternError } from '../../../kit/errors.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { createDecoder } from '../../../kit/schema/decode-body.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Authenticate } from '../../api/authentication.ts';
import { ignoreContentType, unwrapBody } from '../../api/request-parts.ts';
import { invalidBody } from '../../documents/errors.ts';
import { type ConsoleSession, keyName, type LoggedIn } from '../../resources/console-session-record.ts';
import { LOCAL_CALLER } from '../../resources/operation.ts';
import { consoleErrors } from '../errors.ts';
import {
  type ConsoleSessions,
  endedCookie,
  type StartedSession,
  sessionCookie,
  TOKEN_HEADER,
} from './console-sessions.ts';

const MAX_BODY_BYTES = 4096;
const SIGN_IN = {
  schema: Type.Object({ api_key: Type.String({ minLength: 1, maxLength: 512 }) }, { additionalProperties: false }),
  example: { api_key: '…' },
};

interface SessionRoutesOptions {
  readonly sessions: ConsoleSessions;
  readonly replica: Pick<Replica, 'get'>;
  readonly own: OwnAddress;
  /** What the page learns about a session. */
  readonly view: (session: ConsoleSession) => JsonObject;
  readonly authenticate: Authenticate;
  startSession(request: FastifyRequest, who: LoggedIn): Promise<StartedSession>;
}

/** Login with an API key, the current session, and logout. */
export function addSessionRoutes(app: FastifyInstance, options: SessionRoutesOptions): void {
  const { sessions, own, view } = options;
  const decoder = createDecoder(SIGN_IN.schema);
  const current = async (request: FastifyRequest): Promise<ConsoleSession> => {
    checkBrowserOrigin(request, own);
    const { headers, ip, method } = request;
    // Another node may have begun it, or ended it.
    if (headers.authorization === undefined && headers[TOKEN_HEADER] !== undefined) {
      await options.authenticate({ headers, ip, method });
    }
    return sessions.find(headers) ?? sessionOver();
  };
  app.post(
    '/console/session',
    { bodyLimit: MAX_BODY_BYTES, config: { takesBody: true } },
    async (request, reply): Promise<FastifyReply> => {
      checkBrowserOrigin(request, own);
      const decoded = decoder.decode(unwrapBody(SIGN_IN, request.body, {}));
      if (!decoded.ok) throw invalidBody(decoded.problems);
      const who = await keyOwner(request, (decoded.value as { api_key: string }).api_key, options);
      return sendSession(reply.code(201), request, await options.startSession(request, who), view);
    },
  );
  app.get('/console/session', async (request, reply) => sendJson(reply, view(await current(request))));
  app.delete('/console/session', { onRequest: ignoreContentType }, async (request, reply) => {
    await sessions.end((await current(request)).id);
    return reply
      .code(204)
      .header('set-cookie', endedCookie(originOf(request)))
      .send();
  });
}

export function sessionOver(): never {
  throw consoleErrors.create(
    'ERR_POSTERN_CONSOLE_SESSION',
    'the session of the console has ended, or the request lacks its cookie or its token: log in again',
  );
}

/** With the delays of failed authentication, as everywhere. */
async function keyOwner(
  request: FastifyRequest,
  apiKey: string,
  { authenticate, replica }: SessionRoutesOptions,
): Promise<LoggedIn> {
  const headers = { authorization: `Bearer ${apiKey.trim()}` };
  try {
    const { principal } = await authenticate({ headers, ip: request.ip, method: request.method });
    const { apiKeyId, scopes } = principal;
    if (apiKeyId.startsWith(LOCAL_CALLER)) throw notAKey();
    return { kind: 'key', name: keyName(apiKeyId, replica), apiKeyId, scopes };
  } catch (error) {
    if (!(error instanceof PosternError) || error.status !== 401) throw error;
    throw notAKey();
  }
}

function notAKey(): PosternError {
  return consoleErrors.create(
    'ERR_POSTERN_CONSOLE_SIGN_IN',
    'this API key is not known: check that it is complete. Without a key, "postern open" on the machine of the server makes a link that logs in here',
  );
}

function sendSession(
  reply: FastifyReply,
  request: FastifyRequest,
  { session, cookie, token }: StartedSession,
  view: SessionRoutesOptions['view'],
): FastifyReply {
  return sendJson(reply.header('set-cookie', sessionCookie(originOf(request), cookie)), {
    token,
    ...view(session),
  });
}

function sendJson(reply: FastifyReply, body: JsonObject): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
}

/** `checkBrowserOrigin` has required it: neither method is safe. */
function originOf(request: FastifyRequest): URL {
  return new URL(request.headers.origin as string);
}

const PLAIN_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

export interface OwnAddress {
  readonly baseUrl: string;
  /** Whether the listener itself speaks TLS; a proxy in front of it may. */
  readonly isTls: boolean;
}

interface BrowserHeaders {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Checks that a request with a session comes from a page of this server. Host: after DNS rebinding a page of
 * evil.example reaches a loopback server under its own name, so only names that cannot be rebound are accepted: the
 * base URL's, localhost and IP addresses. Origin: pages of other ports on the same host receive the same cookies.
 */
export function checkBrowserOrigin({ method, headers }: BrowserHeaders, own: OwnAddress): void {
  const base = new URL(own.baseUrl);
  const page = checkOwnName({ headers }, own);
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  const isSameSite = site === undefined || site === 'same-origin';
  const isOwnOrigin =
    origin === undefined ? SAFE_METHODS.has(method) : origin === base.origin || origin === page.origin;
  if (isSameSite && isOwnOrigin) return;
  throw consoleErrors.create(
    'ERR_POSTERN_CONSOLE_ORIGIN',
    `the request does not come from a page of this server: open ${own.baseUrl}/console, or set api_url to the address that you use`,
  );
}

/** The origin under which a browser visits this server. Throws for a name that somebody could point here. */
export function checkOwnName({ headers }: Pick<BrowserHeaders, 'headers'>, own: OwnAddress): URL {
  const base = new URL(own.baseUrl);
  const host = (headers.host ?? '').toLowerCase();
  // Null for a port above 65535.
  const page = URL.parse(`${own.isTls ? 'https' : 'http'}://${host}`);
  if (PLAIN_HOST.test(host) && page !== null && isOwnName(hostNameOf(host), base.hostname)) return page;
  throw consoleErrors.create(
    'ERR_POSTERN_CONSOLE_ORIGIN',
    `the console is not available under the name in this address: open ${own.baseUrl}/console, or set api_url to the address that you use`,
  );
}

function hostNameOf(host: string): string {
  return host.replace(/:\d+$/, '').replace(/\.$/, '');
}

function isOwnName(name: string, baseName: string): boolean {
  return name === baseName || name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
}
