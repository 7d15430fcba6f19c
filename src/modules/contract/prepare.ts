import type { TObject, TProperties } from 'typebox';
import type { ErrorCode } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { AddressTable } from '../../kit/net/address-table.ts';
import type { ConfiguredBy } from './agent-form.ts';
import type { TlsPolicy } from './decides.ts';
import type { ModuleRuntime } from './keeps-state.ts';
import type { PreparedModule } from './prepared-module.ts';

/**
 * What `prepare` returns: the hooks, or why there are none. A module that throws is broken, and rejects traffic too.
 */
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

/** Where a module is set. */
export interface ModulePlace {
  /** Kind of the record. */
  readonly kind: string;
  readonly edgeId: string;
  /** Null: on the edge itself. */
  readonly routeId: string | null;
}

/** Data that a module may read while it is being prepared. Reading a record makes the route depend on it. */
export interface PreparePorts<Runtime = ModuleRuntime, Settings = Readonly<Record<string, unknown>>> {
  /** A configuration record's document, with its secrets. */
  record(kind: string, id: string): JsonObject | undefined;
  /** Documents of a record's children. */
  children(kind: string, parentId: string): readonly ChildRecord[];
  /**
   * What the module has made of all children of a record, shared by all routes. The route must read that record too.
   */
  readonly childTable: ReadsChildTables;
  /** Lists of addresses. A route that read the table of a list's record is prepared again when its addresses change. */
  readonly addressLists: AddressLists;
  /** Who configured the module. Agents are trusted less: nothing of an operator's may be used for them unchecked. */
  readonly configuredBy: ConfiguredBy;
  /** The module's own settings. */
  readonly settings: Settings;
  /** The claims that rules of the same route read. */
  readonly askedClaims: () => readonly AskedClaims[];
  readonly place: ModulePlace;
  /** What `createRuntime` made; null where no traffic is served and only problems are collected. */
  readonly runtime: Runtime | null;
}

export interface ChildRecord {
  readonly id: string;
  readonly doc: JsonObject;
}

/**
 * A capability: what a module makes of all records that belong to another one, such as a table of the rules of a
 * policy. Each thread makes it once, for all routes that ask for it, and changes it by the records that changed. A
 * route that asked for it is prepared again when one of them changes.
 */
export interface ChildTable<Value> {
  /** The kind of the records. */
  readonly kind: string;
  /** The kind of the record that they belong to, which the route must read too. */
  readonly parentKind: string;
  readonly empty: Value;
  /**
   * The table after a record was added (`before` null), replaced or removed (`after` null). `value` stays as it is:
   * routes that were prepared with it are still served. A record that cannot be read is part of the value, not an
   * exception.
   */
  changed(value: Value, before: ChildRecord | null, after: ChildRecord | null): Value;
}

export interface DeclaresChildTables {
  readonly childTables?: readonly ChildTable<unknown>[];
}

/** Reads a table while a module is prepared. */
export type ReadsChildTables = <Value>(table: ChildTable<Value>, parentId: string) => Value;

/** Lists of addresses that the node loads for all of its threads. */
export interface AddressLists {
  /** The addresses of a list, by its id and configuration. For `countries`: those of all countries. */
  of(id: string, config: JsonObject): LoadedAddresses;
}

/** `problem`: why they are not loaded. */
export type LoadedAddresses = { readonly addresses: AddressTable } | { readonly problem: string };

/** What modules declare about the claims of people: some have rules about them, others learn them by a login. */
export interface DeclaresClaims {
  /** For a module with rules about people: the claims that each rule reads, `email` for addresses. */
  readonly askedClaims?: (config: JsonObject) => readonly AskedClaims[];
  /** For a login module: its client on a route. Null: it cannot log anybody in. */
  readonly learnsFrom?: (config: JsonObject, context: LearningContext) => LearningClient | null;
}

/** The claims that a rule reads. */
export interface AskedClaims {
  /** The rule's place, such as `allow[0]`. */
  readonly rule: string;
  readonly claims: readonly string[];
}

export interface LearningContext {
  readonly edgeId: string;
  /** The settings of the login module. */
  readonly settings: object;
  readonly asked: readonly AskedClaims[];
}

/** The client of a login at its provider, with what it requests. */
export interface LearningClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Whether the issuer is an OpenID provider elsewhere, which can be asked for its endpoints. */
  readonly isDiscovered: boolean;
  readonly scopes: readonly string[];
  /** Scopes of which one must be requested to learn the claim; empty: nobody can say. */
  readonly scopesFor: (claim: string) => readonly string[];
}

/** What a module declares that shows state of its own to operators. */
export interface DeclaresShownState {
  /**
   * Fields that responses about the module itself add, read from `nodeMemory` of the node that responds. They are not
   * part of the configuration: nothing stores them, and a client may send them back.
   */
  readonly live?: {
    readonly schema: TProperties;
    read(config: JsonObject, place: PreparePorts['place'], ports: LivePorts): JsonObject;
  };
  /** Events that it reports: see `StatePorts.event`. */
  readonly events?: readonly ModuleEvent[];
  /** A state of a route that operators watch: a gauge of the metrics page, and an alert when it has lasted. */
  readonly watched?: WatchedState;
}

export interface WatchedState {
  /** Whether a route is in the state on this node. Asked for enabled modules, at each scrape and look for alerts. */
  isOn(config: JsonObject, place: PreparePorts['place'], ports: LivePorts): boolean;
  /** 1 while a route is in the state, by the labels `edge` and `route`. */
  readonly gauge: { readonly name: string; readonly help: string };
  readonly alert?: WatchedAlert;
}

export interface WatchedAlert {
  /** The `kind` of its alerts. */
  readonly code: string;
  /** What to do, for the operator. */
  readonly advice: string;
  /** The module's setting that says after how many seconds the state is an alert. 0: never. */
  readonly setting: string;
  /** One line: what is wrong. `route` is its host, path and id. */
  title(names: { readonly route: string; readonly node: string }): string;
}

export interface LivePorts {
  /** Null where nothing is served. */
  readonly memory: SharedArrayBuffer | null;
  readonly nowMs: number;
}

export interface ModuleEvent {
  readonly type: string;
  readonly description: string;
  /** The event's object, without the node's name. */
  readonly object: TObject;
}
