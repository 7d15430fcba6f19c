import type { ErrorCode } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { AddressLists } from './address-lists.ts';
import type { ReadsChildTables } from './child-table.ts';
import type { ModuleRuntime } from './keeps-state.ts';
import type { AskedClaims } from './learns-claims.ts';
import type { PreparedModule } from './prepared-module.ts';
import type { TlsPolicy } from './requires-tls.ts';

/** What `prepare` returns: the hooks, or why there are none. A module that throws is broken, and rejects traffic too. */
export type Preparation =
  | { readonly ok: true; readonly prepared: PreparedModule }
  | {
      readonly ok: false;
      readonly problem: PreparationProblem;
      /** Handshake requirements that still apply, for edge modules. */
      readonly tls?: TlsPolicy;
    };

export interface PreparationProblem {
  readonly code: ErrorCode;
  /** What is missing or wrong, and what to do; shown to the operator and, without details, to the client. */
  readonly message: string;
}

/** Data that a module may read while it is being prepared. Reading a record makes the route depend on it. */
export interface PreparePorts<Runtime = ModuleRuntime, Settings = Readonly<Record<string, unknown>>> {
  /** A configuration record's document, with its secrets. */
  record(kind: string, id: string): JsonObject | undefined;
  /** Documents of a record's children. */
  children(kind: string, parentId: string): readonly ChildRecord[];
  /** What the module has made of all children of a record, shared by all routes. The route must read that record too. */
  readonly childTable: ReadsChildTables;
  /** Lists of addresses. A route that read the table of a list's record is prepared again when its addresses change. */
  readonly addressLists: AddressLists;
  /** Who configured the module. Agents are trusted less: nothing of an operator's may be used for them unchecked. */
  readonly configuredBy: ConfiguredBy;
  /** The module's own settings. */
  readonly settings: Settings;
  /** The claims that rules of the same route read. */
  readonly askedClaims: () => readonly AskedClaims[];
  /** Where the module is attached. */
  readonly place: { readonly edgeId: string /** Null for a module of an edge. */; readonly routeId: string | null };
  /** What `createRuntime` made; null where no traffic is served and only problems are collected. */
  readonly runtime: Runtime | null;
}

export interface ChildRecord {
  readonly id: string;
  readonly doc: JsonObject;
}

export type ConfiguredBy = 'operator' | 'agent';
