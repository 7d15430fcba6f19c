import type { IncomingMessage } from 'node:http';
import type { PosternError } from '../lib/errors.ts';
import type { Authenticate } from './authentication.ts';
import { apiErrors } from './errors.ts';
import type { RefusePath } from './parser-error.ts';
import { publicRoutes } from './public-routes.ts';
import type { ServedPaths } from './served-paths.ts';

/** Methods that the framework routes; it fails on some others, such as QUERY. */
const ROUTED_METHODS: ReadonlySet<string | undefined> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);
const PUBLIC_PATHS: ReadonlySet<string> = new Set(publicRoutes.map(({ path }) => path));

export function isRoutedMethod(method: string | undefined): boolean {
  return ROUTED_METHODS.has(method);
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

/** Rejects with 405 or 404. Without a key, a caller learns only about public pages. */
export function unservedRequests(
  refusePath: RefusePath,
  authenticate: Authenticate,
): (request: IncomingMessage) => Promise<never> {
  return async (request) => {
    const url = request.url ?? '';
    if (!PUBLIC_PATHS.has(url.split('?')[0] ?? ''))
      await authenticate({
        headers: request.headers,
        ip: request.socket.remoteAddress ?? '',
        method: request.method ?? '',
      });
    throw refusePath(request.method ?? '', url);
  };
}

/** Tells a path that does not exist from one that does not take the method. */
export function pathRefusals(paths: ServedPaths): RefusePath {
  return (method, url) => {
    const allowed = paths.methodsOf(url.split('?')[0] ?? '');
    if (allowed.length === 0 || allowed.includes(method)) {
      return apiErrors.create(
        'ERR_POSTERN_UNKNOWN_PATH',
        'this path does not exist: GET /openapi.json or /docs lists the available paths',
      );
    }
    return apiErrors.create(
      'ERR_POSTERN_METHOD_NOT_ALLOWED',
      `this path supports ${allowed.join(', ')}, not ${method}`,
      {
        headers: { allow: allowed.join(', ') },
      },
    );
  };
}
