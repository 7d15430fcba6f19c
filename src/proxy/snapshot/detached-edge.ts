import { type EdgeKind, edgeRecordKindOf, routeRecordKindOf } from '../../edges/edge-kind.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Module } from '../../modules/contract/module.ts';
import { moduleRecordKey, worksWhere } from '../../modules/module-config.ts';
import type { BrowsableReader } from '../../store/replica/record-table.ts';
import type { StoredRecord } from '../../store/store.ts';
import { type CompileDefinitions, compileEdge } from './compile-edge.ts';
import { TrackingReader } from './edge-dependencies.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';

/** An edge without stored records, with one catch-all route if its kind has routes. */
export interface DetachedEdge {
  readonly kind: EdgeKind;
  readonly id: string;
  /** Null: it owns no name. */
  readonly host: string | null;
  /** Whether requests come over plain HTTP. */
  readonly isPlain: boolean;
  /** Decoded configuration of each of its modules except the backend. */
  readonly modules: ReadonlyMap<string, JsonObject>;
  /** Records that the modules refer to: policies, authorities. */
  readonly records: readonly DetachedRecord[];
  readonly backend: { readonly kind: string; readonly id: string; readonly config: JsonObject };
}

export interface DetachedRecord {
  readonly kind: string;
  readonly id: string;
  readonly parent: string | null;
  readonly doc: JsonObject;
}

/**
 * Compiled by the same code as stored edges, from records that exist only here. So every protection of an edge applies,
 * in the same order.
 */
export function compileDetached(edge: DetachedEdge, definitions: CompileDefinitions): EdgeSnapshot {
  const { backend } = edge;
  const kindOfId = (id: string): string | null => (id === backend.id ? backend.kind : definitions.kindOfId(id));
  const reader = new TrackingReader(new DetachedReader(recordsOf(edge, definitions.modules)));
  const snapshot = compileEdge(
    edge.id,
    reader,
    { ...definitions, kindOfId, childTable: undefined, backends: undefined },
    'agent',
  );
  if (snapshot === null) throw new Error(`${edge.id} was compiled from records without itself`);
  return edge.isPlain ? { ...snapshot, isPlain: true } : snapshot;
}

function recordsOf(edge: DetachedEdge, modules: readonly Module[]): readonly DetachedRecord[] {
  const { id, backend } = edge;
  const edgeKind = edgeRecordKindOf(edge.kind);
  const routeKind = routeRecordKindOf(edge.kind);
  const configs = new Map(edge.modules).set('backend', { enabled: true, backend_id: backend.id });
  const ofModules = modules.flatMap((module): readonly DetachedRecord[] => {
    const doc = configs.get(module.name);
    const ownerKind = worksWhere(module, edge.kind.passes) ? edgeKind : routeKind;
    return doc === undefined ? [] : [{ ...moduleRecordKey(ownerKind, id, module.name), parent: id, doc }];
  });
  const hostports = edge.host === null ? [] : [`${edge.host}:443`];
  return [
    { kind: edgeKind, id, parent: null, doc: { hostports } },
    ...(edge.kind.routes === null
      ? []
      : [{ kind: routeKind, id, parent: id, doc: { match_type: 'path_prefix', match: '/' } }]),
    { kind: backend.kind, id: backend.id, parent: null, doc: backend.config },
    ...ofModules,
    ...edge.records,
  ];
}

class DetachedReader implements BrowsableReader {
  readonly #records: readonly StoredRecord[];

  constructor(records: readonly DetachedRecord[]) {
    this.#records = records.map((record) => ({ ...record, revision: 0, secrets: null }));
  }

  kinds(): Iterable<string> {
    return this.#records.map(({ kind }) => kind);
  }

  get(kind: string, id: string): StoredRecord | undefined {
    return this.#records.find((record) => record.kind === kind && record.id === id);
  }

  page(kind: string): readonly StoredRecord[] {
    return this.#records.filter((record) => record.kind === kind);
  }

  pageOfParent(kind: string, parent: string): readonly StoredRecord[] {
    return this.#records.filter((record) => record.kind === kind && record.parent === parent);
  }
}
