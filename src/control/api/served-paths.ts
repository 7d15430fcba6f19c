import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { PosternError } from '../../kit/errors.ts';
import type { Authenticate } from './authentication.ts';
import { apiErrors } from './errors.ts';
import type { RefusePath } from './protocol-errors.ts';
import { publicRoutes } from './public-routes.ts';

/** Anything served at a method and a path pattern such as `/edges/https/{id}`. */
interface ServedPath {
  readonly method: string;
  readonly path: string;
}

interface Node {
  readonly fixed: Map<string, Node>;
  parameter: Node | null;
  readonly methods: Set<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** The paths of the API as a tree of segments. The framework's router cannot list the methods of a path. */
export class ServedPaths {
  readonly #root: Node = emptyNode();

  constructor(served: readonly ServedPath[]) {
    for (const { method, path } of served) {
      let node = this.#root;
      for (const segment of segmentsOf(path)) node = childFor(node, segment);
      node.methods.add(method);
    }
  }

  /** Methods of a path, sorted; HEAD is implied by GET, OPTIONS by anything. Empty: nothing is at the path. */
  methodsOf(path: string): readonly string[] {
    const methods = new Set(methodsBelow(this.#root, segmentsOf(path), 0));
    if (methods.has('GET')) methods.add('HEAD');
    if (methods.size > 0) methods.add('OPTIONS');
    return [...methods].sort();
  }
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').slice(1);
}

function childFor(node: Node, segment: string): Node {
  if (segment.startsWith('{')) {
    node.parameter ??= emptyNode();
    return node.parameter;
  }
  const known = node.fixed.get(segment) ?? emptyNode();
  node.fixed.set(segment, known);
  return known;
}

/** A segment that is fixed in one path is no value of a parameter in another: ids have prefixes. */
function methodsBelow(node: Node, segments: readonly string[], depth: number): ReadonlySet<string> {
  const segment = segments[depth];
  if (segment === undefined) return node.methods;
  const fixed = node.fixed.get(segment);
  const methods = fixed === undefined ? NONE : methodsBelow(fixed, segments, depth + 1);
  if (methods.size > 0 || node.parameter === null || segment === '') return methods;
  return methodsBelow(node.parameter, segments, depth + 1);
}

function emptyNode(): Node {
  return { fixed: new Map(), parameter: null, methods: new Set() };
}

/** The path of a request target, as it was sent. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** Routes beside the operations: pages, login, streams. */
export interface ApiExtension {
  /** For the responses to other methods and paths. */
  readonly paths: readonly ServedPath[];
  addRoutes(app: FastifyInstance, tools: { readonly authenticate: Authenticate }): void;
  /** The URL under which a request is routed. */
  rewriteUrl?(request: IncomingMessage): string;
}

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
