import type { IncomingMessage } from 'node:http';
import type { PosternError } from '../lib/errors.ts';
import type { Authenticate } from './authentication.ts';
import { apiErrors } from './errors.ts';
import type { RefusePath } from './protocol-errors.ts';
import { publicRoutes } from './public-routes.ts';
import { pathOf, type ServedPaths } from './served-paths.ts';

/** Methods that the framework routes; it fails on some others, such as QUERY. */
const ROUTED_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const PUBLIC_PATHS: ReadonlySet<string> = new Set(publicRoutes.map(({ path }) => path));

export function isRoutedMethod(method: string | undefined): boolean {
  return method !== undefined && ROUTED_METHODS.has(method);
}

/**
 * Malformed or outdated requests that Node's parser lets through. Node itself would respond to a missing Host without a
 * body.
 */
export function unroutableProblem({ headers, httpVersion }: IncomingMessage): PosternError | null {
  if (httpVersion === '1.1') {
    // RFC 9112 §3.2.
    return headers.host === undefined
      ? apiErrors.create('ERR_POSTERN_BAD_REQUEST', 'the request has no Host header: send one')
      : null;
  }
  return httpVersion === '1.0'
    ? null
    : apiErrors.create('ERR_POSTERN_BAD_REQUEST', `HTTP/${httpVersion} is not supported: use HTTP/1.1`);
}

/** Rejects with 405 or 404. */
export function unservedRequests(
  refusePath: RefusePath,
  authenticate: Authenticate,
): (request: IncomingMessage) => Promise<never> {
  return async (request) => {
    await authenticateForPath(request, authenticate);
    throw refusePath(request.method ?? '', request.url ?? '');
  };
}

/** The methods of the path of an OPTIONS request (RFC 9110 §9.3.7); rejects with 404. `*` is the whole server. */
export function allowedMethods(
  paths: ServedPaths,
  authenticate: Authenticate,
): (request: IncomingMessage) => Promise<readonly string[]> {
  return async (request) => {
    const url = request.url ?? '';
    if (url === '*') return [...ROUTED_METHODS];
    await authenticateForPath(request, authenticate);
    const allowed = paths.methodsOf(pathOf(url));
    if (allowed.length === 0) throw unknownPath();
    return allowed;
  };
}

/** Without a key, a caller learns only about public pages. */
async function authenticateForPath(
  { url = '', headers, socket, method = '' }: IncomingMessage,
  authenticate: Authenticate,
): Promise<void> {
  if (!PUBLIC_PATHS.has(pathOf(url))) await authenticate({ headers, ip: socket.remoteAddress ?? '', method });
}

/** Tells a path that does not exist from one that does not take the method. */
export function pathRefusals(paths: ServedPaths): RefusePath {
  return (method, url) => {
    const allowed = paths.methodsOf(pathOf(url));
    if (allowed.length === 0 || allowed.includes(method)) return unknownPath();
    return apiErrors.create(
      'ERR_POSTERN_METHOD_NOT_ALLOWED',
      `this path supports ${allowed.join(', ')}, not ${method}`,
      {
        headers: { allow: allowed.join(', ') },
      },
    );
  };
}

function unknownPath(): PosternError {
  return apiErrors.create(
    'ERR_POSTERN_UNKNOWN_PATH',
    'this path does not exist: GET /openapi.json or /docs lists the available paths',
  );
}
