import type { JsonObject } from '../lib/json.ts';
import type { Module } from '../modules/contract/module.ts';
import { moduleRecordKey } from '../modules/module-config.ts';
import type { BrowsableReader } from '../replica/record-table.ts';
import type { StoredRecord } from '../store/store.ts';
import { type CompileDefinitions, compileEdge } from './compile-edge.ts';
import { TrackingReader } from './edge-dependencies.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';

const EDGE_KIND = 'https_edge';
const ROUTE_KIND = 'https_edge_route';

/** An edge with one host and one catch-all route, without stored records. */
export interface DetachedEdge {
  readonly id: string;
  readonly host: string;
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
  const configs = new Map(edge.modules).set('backend', { enabled: true, backend_id: backend.id });
  const ofModules = modules.flatMap((module): readonly DetachedRecord[] => {
    const doc = configs.get(module.name);
    const ownerKind = module.level === 'edge' ? EDGE_KIND : ROUTE_KIND;
    return doc === undefined ? [] : [{ ...moduleRecordKey(ownerKind, id, module.name), parent: id, doc }];
  });
  return [
    { kind: EDGE_KIND, id, parent: null, doc: { hostports: [`${edge.host}:443`] } },
    { kind: ROUTE_KIND, id, parent: id, doc: { match_type: 'path_prefix', match: '/' } },
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
