import { type BackendSnapshot, TUNNEL_BACKEND_KIND, waysOf, waysProblem } from '../../backends/backend.ts';
import { backendConfig, backendOfRecordKind } from '../../backends/record-kinds.ts';
import { readOrNull } from '../../kit/read-or-null.ts';
import { pathReaderOf } from '../../modules/module-config.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Change, StoredRecord } from '../../store/store.ts';

/** The kind of an id, by its prefix. */
export type KindOfId = (id: string) => string | null;

/** `problem`: why the route must refuse. */
type RouteBackend = { readonly backend: BackendSnapshot | null } | { readonly problem: string };

/**
 * The backends of a thread, each compiled once: routes of all edges share them, so that 700 sites of one backend with
 * 10,000 targets take the memory of one. A change of a backend outdates it and all that lead to it, and nothing else.
 */
export class SharedBackends {
  readonly #reader: Pick<RecordReader, 'get'>;
  readonly #kindOfId: KindOfId;
  readonly #compiled = new Map<string, BackendSnapshot | null>();
  readonly #ofRoutes = new Map<string, RouteBackend>();
  /** Members of each backend that was asked for; null: the API did not write its configuration. */
  readonly #members = new Map<string, readonly string[] | null>();
  /** The backends that name it. */
  readonly #namedBy = new Map<string, Set<string>>();

  constructor(reader: Pick<RecordReader, 'get'>, kindOfId: KindOfId) {
    this.#reader = reader;
    this.#kindOfId = kindOfId;
  }

  /**
   * A backend with its members. Null: it does not exist. Writes refuse too many ways and cycles, but a backend that
   * others name may get more of them later.
   */
  compile(id: string): RouteBackend {
    let known = this.#ofRoutes.get(id);
    if (known === undefined) {
      known = this.#compileForRoute(id);
      this.#ofRoutes.set(id, known);
    }
    return known;
  }

  /** Returns the changes as edges depend on them: a changed backend changes those that lead to it. */
  follow(changes: readonly Change[]): readonly Change[] {
    const changed = new Set<string>();
    for (const change of changes) {
      const { id } = change.op === 'put' ? change.record : change.key;
      if (this.#members.has(id)) changed.add(id);
    }
    if (changed.size === 0) return changes;
    for (const id of changed) this.#readAgain(id);
    // The set grows while it is walked.
    const outdated = new Set(changed);
    for (const id of outdated) {
      this.#compiled.delete(id);
      this.#ofRoutes.delete(id);
      for (const parent of this.#namedBy.get(id) ?? []) outdated.add(parent);
    }
    const above = [...outdated.difference(changed)]
      .map((id) => this.#recordOf(id))
      .filter((each) => each !== undefined);
    return above.length === 0 ? changes : [...changes, ...above.map((record) => ({ op: 'put', record }) as const)];
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
    const snapshot = this.#make(id);
    this.#compiled.set(id, snapshot);
    return snapshot;
  }

  #make(id: string): BackendSnapshot | null {
    const record = this.#recordOf(id);
    if (record === undefined) return null;
    const members = new Map<string, BackendSnapshot>();
    for (const memberId of this.#membersOf(id) ?? []) {
      const member = this.#compile(memberId);
      if (member !== null) members.set(memberId, member);
    }
    const config = backendConfig(record.kind, record.doc);
    return { kind: record.kind, id, revision: record.revision, config, members };
  }

  #membersOf(id: string): readonly string[] | null {
    let members = this.#members.get(id);
    if (members === undefined) {
      members = this.#readMembers(id);
      this.#members.set(id, members);
      for (const member of members ?? []) this.#namersOf(member).add(id);
    }
    return members;
  }

  #namersOf(id: string): Set<string> {
    let namers = this.#namedBy.get(id);
    if (namers === undefined) {
      namers = new Set();
      this.#namedBy.set(id, namers);
    }
    return namers;
  }

  /** Who names whom must be known at once: a member may change before this one is compiled again. */
  #readAgain(id: string): void {
    for (const member of this.#members.get(id) ?? []) {
      const namers = this.#namedBy.get(member);
      namers?.delete(id);
      if (namers?.size === 0) this.#namedBy.delete(member);
    }
    this.#members.delete(id);
    if (this.#recordOf(id) !== undefined || this.#namedBy.has(id)) this.#membersOf(id);
  }

  #readMembers(id: string): readonly string[] | null {
    const record = this.#recordOf(id);
    if (record === undefined) return [];
    const { kind, doc } = record;
    const members = readOrNull(() => backendOfRecordKind(kind)?.memberIds?.(backendConfig(kind, doc) as never) ?? []);
    return Array.isArray(members) && members.every((member) => typeof member === 'string') ? members : null;
  }

  #recordOf(id: string): StoredRecord | undefined {
    const kind = this.#kindOfId(id);
    return kind === null ? undefined : this.#reader.get(kind, id);
  }
}

/** A backend and all below it, each once, however many name it. */
function withMembers(backend: BackendSnapshot): ReadonlySet<BackendSnapshot> {
  const found = new Set([backend]);
  for (const each of found) for (const member of each.members.values()) found.add(member);
  return found;
}

const pathReaders = new WeakMap<BackendSnapshot, string | null>();

/** What of a backend and its members reads paths; null: nothing. */
export function backendPathReader(backend: BackendSnapshot): string | null {
  let known = pathReaders.get(backend);
  if (known === undefined) {
    known = findPathReader(backend);
    pathReaders.set(backend, known);
  }
  return known;
}

function findPathReader(backend: BackendSnapshot): string | null {
  for (const { kind, config } of withMembers(backend)) {
    const known = backendOfRecordKind(kind);
    if (known === undefined && kind !== TUNNEL_BACKEND_KIND) return kind;
    const reader = known === undefined ? null : pathReaderOf(known, config);
    if (reader !== null) return reader;
  }
  return null;
}

/**
 * By both backends, whose identity stands for their version: two with a hundred members each are ten thousand pairs.
 */
const known = new WeakMap<BackendSnapshot, WeakMap<BackendSnapshot, boolean>>();

/**
 * So many are compared in a tenth of a second. More count as shared, because that refuses a rewrite instead of allowing
 * it.
 */
const MAX_PAIRS = 100_000;

/** Whether requests to two backends, or to members of them, may reach the same service. */
export function mayShareService(one: BackendSnapshot | null, other: BackendSnapshot | null): boolean {
  if (one === null || other === null) return false;
  let ofOne = known.get(one);
  if (ofOne === undefined) {
    ofOne = new WeakMap();
    known.set(one, ofOne);
  }
  let isShared = ofOne.get(other);
  if (isShared === undefined) {
    const [all, others] = [[...withMembers(one)], [...withMembers(other)]];
    isShared =
      all.length * others.length > MAX_PAIRS || all.some((each) => others.some((another) => sendToSame(each, another)));
    ofOne.set(other, isShared);
  }
  return isShared;
}

function sendToSame(one: BackendSnapshot, other: BackendSnapshot): boolean {
  if (one.kind !== other.kind) return false;
  return (
    one.id === other.id ||
    backendOfRecordKind(one.kind)?.maySendToSame?.(one.config as never, other.config as never) === true
  );
}
