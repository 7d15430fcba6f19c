import { type EdgeKind, edgeRecordKindOf, type Passing, routeRecordKindOf } from '../../edges/edge-kind.ts';
import { namesIn } from '../../edges/owned-names.ts';
import type { StoredRecord } from '../../store/store.ts';

/** An edge or route, as far as modules are concerned. */
export interface OwnerKind {
  /** Kind of its records. */
  readonly kind: string;
  readonly passes: readonly Passing[];
}

/** The record of an edge, with its kind. */
export interface FoundEdge {
  readonly kind: EdgeKind;
  readonly record: StoredRecord;
}

/** The edges of a kind, and their routes if they have any. */
export function ownersOf(kind: EdgeKind): readonly [OwnerKind] | readonly [OwnerKind, OwnerKind] {
  const edge = { kind: edgeRecordKindOf(kind), passes: kind.passes };
  return kind.routes === null ? [edge] : [edge, { kind: routeRecordKindOf(kind), passes: kind.routes.passes }];
}

/** The kinds of edges that are compiled, by the kinds of their records. */
export class KindsOfEdges {
  readonly recordKinds: readonly string[];
  /** Whatever modules can be set on. */
  readonly owners: readonly OwnerKind[];
  readonly #byRecordKind: ReadonlyMap<string, EdgeKind>;

  constructor(kinds: readonly EdgeKind[]) {
    this.#byRecordKind = new Map(kinds.map((kind) => [edgeRecordKindOf(kind), kind]));
    this.recordKinds = [...this.#byRecordKind.keys()];
    this.owners = kinds.flatMap(ownersOf);
  }

  has(recordKind: string): boolean {
    return this.#byRecordKind.has(recordKind);
  }

  find(reader: { get(kind: string, id: string): StoredRecord | undefined }, edgeId: string): FoundEdge | undefined {
    for (const [recordKind, kind] of this.#byRecordKind) {
      const record = reader.get(recordKind, edgeId);
      if (record !== undefined) return { kind, record };
    }
    return undefined;
  }

  /** The hosts that an edge is found by. */
  hostsOf({ kind, doc }: Pick<StoredRecord, 'kind' | 'doc'>): readonly string[] {
    return this.#byRecordKind.get(kind)?.owns === 'names' ? namesIn(doc) : [];
  }
}
