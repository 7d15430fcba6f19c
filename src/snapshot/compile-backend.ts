import { type BackendSnapshot, TUNNEL_BACKEND_KIND } from '../backends/backend-snapshot.ts';
import { backendOfRecordKind } from '../backends/record-kinds.ts';
import { waysOf, waysProblem } from '../backends/ways.ts';
import { readOrNull } from '../lib/read-or-null.ts';
import { pathReaderOf } from '../modules/path-reader.ts';
import type { TrackingReader } from './tracking-reader.ts';

/** The kind of an id, by its prefix. */
export type KindOfId = (id: string) => string | null;

/** `problem`: why the route must refuse. */
type RouteBackend = { readonly backend: BackendSnapshot | null } | { readonly problem: string };

/** The backends of an edge, each compiled once: routes share them, and one that others name is not copied for each. */
export class EdgeBackends {
  readonly #reader: TrackingReader;
  readonly #kindOfId: KindOfId;
  readonly #compiled = new Map<string, BackendSnapshot | null>();
  readonly #ofRoutes = new Map<string, RouteBackend>();

  constructor(reader: TrackingReader, kindOfId: KindOfId) {
    this.#reader = reader;
    this.#kindOfId = kindOfId;
  }

  /**
   * A backend with its members. Null: it does not exist. Writes refuse too many ways and cycles, but a backend that others
   * name may get more of them later.
   */
  compile(id: string): RouteBackend {
    let known = this.#ofRoutes.get(id);
    if (known === undefined) {
      known = this.#compileForRoute(id);
      this.#ofRoutes.set(id, known);
    }
    return known;
  }

  #compileForRoute(id: string): RouteBackend {
    const unreadable: string[] = [];
    const ways = waysOf(id, (each) => {
      const members = this.#membersOf(each);
      if (members === null) unreadable.push(each);
      return members ?? [];
    });
    const [first] = unreadable;
    if (first !== undefined) return { problem: `the backend ${first} cannot be read: replace it` };
    const problem = waysProblem(ways);
    return problem === null ? { backend: this.#compile(id) } : { problem: `the backend ${id} ${problem}` };
  }

  /** Only of a backend with few levels. */
  #compile(id: string): BackendSnapshot | null {
    const known = this.#compiled.get(id);
    if (known !== undefined) return known;
    const kind = this.#kindOfId(id);
    const record = kind === null ? undefined : this.#reader.get(kind, id);
    if (kind === null || record === undefined) return null;
    const members = new Map<string, BackendSnapshot>();
    for (const memberId of this.#membersOf(id) ?? []) {
      const member = this.#compile(memberId);
      if (member !== null) members.set(memberId, member);
    }
    const snapshot = { kind, id, revision: record.revision, config: record.doc, members };
    this.#compiled.set(id, snapshot);
    return snapshot;
  }

  /** Null: the API did not write this configuration. */
  #membersOf(id: string): readonly string[] | null {
    const kind = this.#kindOfId(id);
    const record = kind === null ? undefined : this.#reader.get(kind, id);
    if (kind === null || record === undefined) return [];
    const members = readOrNull(() => backendOfRecordKind(kind)?.memberIds?.(record.doc as never) ?? []);
    return Array.isArray(members) && members.every((member) => typeof member === 'string') ? members : null;
  }
}

/** A backend and all below it, each once, however many name it. */
export function withMembers(backend: BackendSnapshot): ReadonlySet<BackendSnapshot> {
  const found = new Set([backend]);
  for (const each of found) for (const member of each.members.values()) found.add(member);
  return found;
}

/** What of a backend and its members reads paths; null: nothing. */
export function backendPathReader(backend: BackendSnapshot): string | null {
  for (const { kind, config } of withMembers(backend)) {
    const known = backendOfRecordKind(kind);
    if (known === undefined && kind !== TUNNEL_BACKEND_KIND) return kind;
    const reader = known === undefined ? null : pathReaderOf(known, config);
    if (reader !== null) return reader;
  }
  return null;
}
