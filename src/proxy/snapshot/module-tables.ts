import { hash } from 'node:crypto';
import type { TimeSlice } from '../../kit/async/slices.ts';
import { canonicalJson, type JsonObject, type JsonValue, pathOf, withValue } from '../../kit/json.ts';
import { withDefaults } from '../../kit/schema/with-defaults.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { ChildRecord, ChildTable } from '../../modules/contract/prepare.ts';
import { moduleNameOf, moduleRecordKey, worksWhere } from '../../modules/module-config.ts';
import { foreignHeaders, nameMatcher, namesOf } from '../../modules/reserved-names.ts';
import type { FollowedReplica } from '../../store/replica/replica.ts';
import type { Change, StoredRecord } from '../../store/store.ts';
import type { OwnerKind } from './kinds-of-edges.ts';

/** An edge is compiled again for a change of any of its routes, and most of its records are still the same ones. */
const joined = new WeakMap<StoredRecord, JsonObject>();
/** Only of records that lack a field. */
const completed = new WeakMap<StoredRecord, JsonObject>();
const digests = new WeakMap<StoredRecord, string>();

/** The document of a record with its secrets. Records are never changed in place. */
export function withSecrets(record: StoredRecord): JsonObject {
  if (record.secrets === null) return record.doc;
  let config = joined.get(record);
  if (config === undefined) {
    config = joinSecrets(record);
    joined.set(record, config);
  }
  return config;
}

/** The configuration of a module with its secrets; fields that it was stored without have their defaults. */
export function moduleConfig({ config: schema }: Pick<Module, 'config'>, record: StoredRecord): JsonObject {
  const known = completed.get(record);
  if (known !== undefined) return known;
  const stored = withSecrets(record);
  const config = withDefaults(schema, stored);
  if (config !== stored) completed.set(record, config);
  return config;
}

/** Equal for records whose configuration is equal; without a module: of one that this version does not know. */
export function configDigest(record: StoredRecord, module?: Module): string {
  let digest = digests.get(record);
  if (digest === undefined) {
    const config = module === undefined ? withSecrets(record) : moduleConfig(module, record);
    digest = hash('sha256', canonicalJson(config), 'base64url');
    digests.set(record, digest);
  }
  return digest;
}

function joinSecrets(record: StoredRecord): JsonObject {
  return Object.entries(record.secrets ?? {}).reduce(
    (doc, [pointer, text]) => withValue(doc, pathOf(pointer), JSON.parse(text) as JsonValue),
    record.doc,
  );
}

/** A module with the kind of its records. */
interface PlacedModule {
  readonly module: Module;
  readonly kind: string;
}

/** A module written by a later version of this program, before a downgrade or beside this one. */
export interface UnknownModule {
  readonly name: string;
  readonly kind: string;
}

/** Facts about the registered modules that the compilation of every edge needs, collected once. */
export class ModuleTables {
  readonly logins: readonly Module[];
  readonly secretPaths: readonly string[];
  readonly isReservedCookie: (name: string) => boolean;
  readonly #byOwner: ReadonlyMap<string, readonly PlacedModule[]>;
  readonly #positions: ReadonlyMap<string, number>;
  readonly #foreignHeaders = new Map<string, (name: string) => boolean>();
  readonly #modules: readonly Module[];
  readonly #loading: ReadonlyMap<string, Module>;

  constructor(modules: readonly Module[], owners: readonly OwnerKind[]) {
    const placed = ({ kind, passes }: OwnerKind): readonly PlacedModule[] =>
      modules
        .filter((module) => worksWhere(module, passes))
        .map((module) => ({ module, kind: moduleRecordKey(kind, '', module.name).kind }));
    this.#byOwner = new Map(owners.map((owner) => [owner.kind, placed(owner)]));
    this.logins = modules.filter(({ isLogin }) => isLogin === true);
    this.secretPaths = modules.flatMap((module) => module.secretPaths ?? []);
    this.isReservedCookie = nameMatcher(modules.flatMap((module) => namesOf(module, 'reservedCookies')));
    this.#positions = new Map(modules.map(({ name }, position) => [name, position]));
    this.#modules = modules;
    const loading = [...this.#byOwner.values()].flat().filter(({ module }) => module.load !== undefined);
    this.#loading = new Map(loading.map(({ module, kind }) => [kind, module]));
  }

  /** Modules that can be set on edges or routes of this kind. */
  on(ownerKind: string): readonly PlacedModule[] {
    return this.#byOwner.get(ownerKind) ?? [];
  }

  /** Kinds of records whose modules load a part of the program. */
  get loadingKinds(): Iterable<string> {
    return this.#loading.keys();
  }

  /** Loads what these records need; null: nothing is missing. */
  load(records: Iterable<StoredRecord>): Promise<unknown> | null {
    if (this.#loading.size === 0) return null;
    const missing = Array.from(records, (record) => this.#partFor(record)).filter((part) => part !== null);
    return missing.length === 0 ? null : Promise.all(missing);
  }

  /** Null also for a record that cannot be read: preparing it fails too, and its route refuses. */
  #partFor(record: StoredRecord): Promise<unknown> | null {
    if (record.doc['enabled'] === false) return null;
    try {
      const module = this.#loading.get(record.kind);
      return module?.load?.(moduleConfig(module, record) as never) ?? null;
    } catch {
      return null;
    }
  }

  /** The place of a module in the order of traffic. */
  position(name: string): number {
    return this.#positions.get(name) ?? -1;
  }

  /** Matches request headers that the module may not change. */
  foreignHeadersOf(name: string): (header: string) => boolean {
    const known = this.#foreignHeaders.get(name);
    if (known !== undefined) return known;
    const isForeign = foreignHeaders({ name }, this.#modules);
    this.#foreignHeaders.set(name, isForeign);
    return isForeign;
  }

  unknownModules(ownerKind: string, kinds: Iterable<string>): readonly UnknownModule[] {
    const unknown: UnknownModule[] = [];
    for (const kind of kinds) {
      const name = moduleNameOf(ownerKind, kind);
      if (name !== null && !this.#positions.has(name)) unknown.push({ name, kind });
    }
    return unknown;
  }
}

/** Takes about a millisecond. */
const MAX_AT_ONCE = 200;

/**
 * The tables that modules make of the children of records, such as the rules of a policy: one of each in this thread.
 * They follow the replica: a change of a record is a change of one table. Many changes are applied in slices; until
 * then, no edge is compiled, so that no route is ever served with a table of another state than its modules.
 */
export class ChildTables {
  readonly #replica: Pick<FollowedReplica, 'get' | 'all'>;
  readonly #tables: ReadonlyMap<ChildTable<unknown>, KindOfTable>;
  readonly #byKind: ReadonlyMap<string, readonly KindOfTable[]>;

  #catchingUp: Promise<void> | null = null;

  constructor(modules: readonly Module[], replica: Pick<FollowedReplica, 'get' | 'all'>) {
    const tables = modules.flatMap(({ childTables = [] }) => childTables);
    this.#replica = replica;
    this.#tables = new Map(tables.map((table) => [table, new KindOfTable(table)]));
    this.#byKind = Map.groupBy(this.#tables.values(), ({ table }) => table.kind);
  }

  /** All records that exist are new. */
  followAll(): void {
    for (const { table, waiting } of this.#tables.values())
      for (const { id } of this.#replica.all(table.kind)) waiting.add(id);
  }

  /**
   * Notes changes that the replica shows, and applies few of them. Returns the changes as edges depend on them: instead
   * of the records of a table, the record that they belong to.
   */
  follow(changes: readonly Change[]): readonly Change[] {
    const parents = new Set<string>();
    const rest = changes.filter((change) => {
      const { kind, id } = change.op === 'put' ? change.record : change.key;
      const tables = this.#byKind.get(kind);
      for (const ofKind of tables ?? []) {
        const parent = change.op === 'put' ? change.record.parent : ofKind.parentOf(id);
        ofKind.waiting.add(id);
        if (parent !== null) parents.add(`${ofKind.table.parentKind} ${parent}`);
      }
      return tables === undefined;
    });
    if (rest.length === changes.length) return changes;
    if (this.#waiting <= MAX_AT_ONCE) this.#catchUp();
    for (const key of parents) {
      const [kind = '', id = ''] = key.split(' ');
      const record = this.#replica.get(kind, id);
      // A parent that was deleted is among the changes itself.
      if (record !== undefined) rest.push({ op: 'put', record });
    }
    return rest;
  }

  /** Whether changes are waiting to be applied in slices. */
  get isBehind(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when all changes are applied, those that arrive meanwhile included. */
  catchUp(slice: TimeSlice): Promise<void> {
    this.#catchingUp ??= this.#catchUpInSlices(slice).finally(() => {
      this.#catchingUp = null;
    });
    return this.#catchingUp;
  }

  async #catchUpInSlices(slice: TimeSlice): Promise<void> {
    for (const ofKind of this.#tables.values()) {
      for (const id of ofKind.waiting) {
        this.#apply(ofKind, id);
        if (slice.isOver) await slice.next();
      }
    }
  }

  /** As it is with everything that the replica shows. */
  read<Value>(table: ChildTable<Value>, parentId: string): Value {
    const ofKind = this.#tables.get(table);
    if (ofKind === undefined) throw new Error(`no module declares this table of ${table.kind}`);
    // An edge that is compiled because a visitor asks for it cannot wait.
    if (ofKind.waiting.size > 0) this.#catchUp();
    return ofKind.read(parentId) as Value;
  }

  get #waiting(): number {
    let waiting = 0;
    for (const ofKind of this.#tables.values()) waiting += ofKind.waiting.size;
    return waiting;
  }

  #catchUp(): void {
    for (const ofKind of this.#tables.values()) for (const id of ofKind.waiting) this.#apply(ofKind, id);
  }

  #apply(ofKind: KindOfTable, id: string): void {
    ofKind.waiting.delete(id);
    ofKind.apply(id, this.#replica.get(ofKind.table.kind, id));
  }
}

/** All tables of one declaration. */
class KindOfTable {
  readonly table: ChildTable<unknown>;
  /** Ids of records that may have changed. */
  readonly waiting = new Set<string>();
  /** The records that the tables were made of. */
  readonly #records = new Map<string, StoredRecord>();
  readonly #tables = new Map<string, { readonly value: unknown; readonly count: number; readonly error?: unknown }>();

  constructor(table: ChildTable<unknown>) {
    this.table = table;
  }

  parentOf(id: string): string | null {
    return this.#records.get(id)?.parent ?? null;
  }

  read(parentId: string): unknown {
    const found = this.#tables.get(parentId);
    // The module that reads it cannot be prepared, and refuses.
    if (found !== undefined && 'error' in found) throw found.error;
    return found === undefined ? this.table.empty : found.value;
  }

  apply(id: string, after: StoredRecord | undefined): void {
    const before = this.#records.get(id);
    if (before === after) return;
    if (after === undefined) this.#records.delete(id);
    else this.#records.set(id, after);
    const parent = (after ?? before)?.parent ?? null;
    if (parent === null) return;
    const known = this.#tables.get(parent) ?? { value: this.table.empty, count: 0 };
    const count = known.count + (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    if (count === 0) this.#tables.delete(parent);
    else this.#tables.set(parent, { ...known, ...this.#changed(known.value, before, after), count });
  }

  /**
   * A table that a bug keeps from being made stays broken until all of its records are gone: nobody knows what it
   * lacks.
   */
  #changed(value: unknown, before: StoredRecord | undefined, after: StoredRecord | undefined) {
    try {
      return { value: this.table.changed(value, childOf(before), childOf(after)) };
    } catch (error) {
      return { value, error };
    }
  }
}

function childOf(record: StoredRecord | undefined): ChildRecord | null {
  return record === undefined ? null : { id: record.id, doc: withSecrets(record) };
}
