import type { Module } from '../modules/contract/module.ts';
import { moduleNameOf, moduleRecordKey } from '../modules/module-record-key.ts';
import { foreignHeaders, nameMatcher } from '../modules/reserved-names.ts';
import { namesOf } from '../modules/shared-runtimes.ts';
import type { StoredRecord } from '../store/store.ts';
import { configOf } from './record-config.ts';

/** A module with the kind of its records. */
export interface PlacedModule {
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
  readonly edgeModules: readonly PlacedModule[];
  readonly routeModules: readonly PlacedModule[];
  readonly logins: readonly Module[];
  readonly secretPaths: readonly string[];
  readonly isReservedCookie: (name: string) => boolean;
  readonly #positions: ReadonlyMap<string, number>;
  readonly #foreignHeaders = new Map<string, (name: string) => boolean>();
  readonly #modules: readonly Module[];
  readonly #loading: ReadonlyMap<string, Module>;

  constructor(modules: readonly Module[], kinds: { readonly edge: string; readonly route: string }) {
    const placed = (level: Module['level']): readonly PlacedModule[] =>
      modules
        .filter((module) => module.level === level)
        .map((module) => ({ module, kind: moduleRecordKey(kinds[level], '', module.name).kind }));
    this.edgeModules = placed('edge');
    this.routeModules = placed('route');
    this.logins = modules.filter(({ isLogin }) => isLogin === true);
    this.secretPaths = modules.flatMap((module) => module.secretPaths ?? []);
    this.isReservedCookie = nameMatcher(modules.flatMap((module) => namesOf(module, 'reservedCookies')));
    this.#positions = new Map(modules.map(({ name }, position) => [name, position]));
    this.#modules = modules;
    const loading = [...this.edgeModules, ...this.routeModules].filter(({ module }) => module.load !== undefined);
    this.#loading = new Map(loading.map(({ module, kind }) => [kind, module]));
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
      return this.#loading.get(record.kind)?.load?.(configOf(record) as never) ?? null;
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
