import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Authenticate } from './authentication.ts';

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
