import type { Operation } from '../resources/operation.ts';
import { isWellFormedId } from './operation-route.ts';

const MAX_RECENT = 1000;

interface Node {
  readonly fixed: Map<string, Node>;
  parameter: Node | null;
  read: { readonly operation: Operation; readonly names: readonly string[] } | null;
}

export interface ReadMatch {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the read operation of a path that needs no decoding, and whose ids are well-formed. */
export class ReadRoutes {
  readonly #root: Node = emptyNode();
  /** Programs request the same few paths repeatedly. */
  readonly #recent = new Map<string, ReadMatch>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) if (operation.method === 'GET') this.#add(operation);
  }

  find(path: string): ReadMatch | null {
    const recent = this.#recent.get(path);
    if (recent !== undefined) return recent;
    const found = this.#walk(path);
    if (found === null) return null;
    if (this.#recent.size >= MAX_RECENT) this.#recent.clear();
    this.#recent.set(path, found);
    return found;
  }

  #walk(path: string): ReadMatch | null {
    const values: string[] = [];
    let node = this.#root;
    let start = 1;
    while (start <= path.length) {
      const slash = path.indexOf('/', start);
      const end = slash === -1 ? path.length : slash;
      const segment = path.slice(start, end);
      const fixed = node.fixed.get(segment);
      if (fixed !== undefined) node = fixed;
      else if (node.parameter !== null && segment !== '') {
        values.push(segment);
        node = node.parameter;
      } else return null;
      start = end + 1;
    }
    if (node.read === null || values.some((value, at) => node.read?.names[at] !== 'type' && !isWellFormedId(value)))
      return null;
    const params: Record<string, string> = {};
    for (let at = 0; at < values.length; at += 1) params[node.read.names[at] as string] = values[at] as string;
    return { operation: node.read.operation, params };
  }

  #add(operation: Operation): void {
    let node = this.#root;
    const names: string[] = [];
    for (const segment of operation.path.split('/').slice(1)) {
      const name = /^\{(.+)\}$/.exec(segment)?.[1];
      if (name === undefined) {
        const known = node.fixed.get(segment) ?? emptyNode();
        node.fixed.set(segment, known);
        node = known;
      } else {
        // The same position has different names in different paths: an edge is {id}, and {edge_id} above its routes.
        names.push(name);
        node.parameter ??= emptyNode();
        node = node.parameter;
      }
    }
    node.read = { operation, names };
  }
}

function emptyNode(): Node {
  return { fixed: new Map(), parameter: null, read: null };
}
