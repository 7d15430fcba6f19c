import type { Clock } from '../../kit/clock.ts';
import type { GuardedFetch, GuardedFetchOptions } from '../../kit/http/guarded-fetch.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { DeclaredSettings, SettingValues } from '../../kit/settings/setting.ts';
import type { AttemptBudgets } from './attempt-budgets.ts';
import type { DeclaresDecisions } from './decides.ts';
import type { LoginRecords } from './login-store.ts';
import type { OwnIssuer } from './own-issuer.ts';
import type { DeclaresPaths, DeclaresRequestChanges } from './prepared-module.ts';

/**
 * A capability: keeps state across requests, routes and versions of the configuration.
 *
 * | state | how many | ends with |
 * |---|---|---|
 * | fields and closures of a prepared module | one per route or edge, version and thread | the version |
 * | a runtime, a shared runtime, their memory and timers | one per thread that serves traffic, and one for `explain` | the thread |
 * | `records`, `followed`, `logins` | one for the installation: all nodes and threads read and write the same | its deletion |
 * | `attempts` | one per node | the process |
 * | `nodeMemory` | one per node: all threads that serve traffic, and `explain`, read and write the same | the process |
 * | keys behind `mac`, `seal` and `open` | one set for the installation | the installation |
 * | `counter` | one per thread, added up per node | the process |
 * | settings | one per node | a restart |
 *
 * With the setting `workers`, several threads of a process serve traffic: two runtimes never see each other's memory.
 * What must be exact across nodes, such as a claim that may be used once, is a record. What must be exact across the
 * threads of a node, and changes with every request, is in `nodeMemory`. Work that must be done once for the
 * installation is claimed with `followed.write`, because every timer runs in every thread. `explain` prepares modules
 * once more, with runtimes of its own whose ports have no effect: a variable of the file would be shared with it.
 */
export interface DeclaresState<Settings extends DeclaredSettings, Runtime extends ModuleRuntime> {
  /**
   * Opens the runtime, once per thread, before any route is prepared there. Write it above `prepare`: TypeScript then
   * knows the type of `PreparePorts.runtime`.
   */
  createRuntime?(ports: RuntimePorts, settings: SettingValues<Settings>): Promise<Runtime>;
  /** Memory that all threads of the node share: see `RuntimePorts.nodeMemory`. */
  readonly nodeMemory?: DeclaresNodeMemory<SettingValues<Settings>>;
  /** State that it shares with other modules. Their settings reach its hooks, and their names count as its own. */
  readonly shared?: readonly SharedRuntime[];
  /** Kinds of records that the module stores for itself: see `StatePorts.records`. */
  readonly recordKinds?: readonly string[];
  /** Kinds of configuration that its runtime reads: see `StatePorts.followed`. */
  readonly followedKinds?: readonly string[];
}

interface DeclaresNodeMemory<Settings> {
  /** Called once, when the process starts. Pages that nobody writes to take no memory. */
  create(settings: Settings): SharedArrayBuffer;
  /** A thread has ended, maybe in the middle of a change: releases what it held. */
  threadEnded?(memory: SharedArrayBuffer, thread: number): void;
}

export interface NodeMemory {
  readonly memory: SharedArrayBuffer;
  /** The thread of this runtime: that of a worker, from 0, or -1 for the main thread. */
  readonly thread: number;
}

/** The module's state in one thread, shared by everything that it prepares there. */
export interface ModuleRuntime {
  /** An edge was reconfigured or deleted. `routeIds`: its routes that have the module now, and enabled. */
  edgeChanged?(edgeId: string, routeIds: ReadonlySet<string>): void;
  /** This thread stood still: resolves when everything is known that others have changed, beside records. */
  catchUp?(): Promise<void>;
  /** Called once, when no request is in progress. */
  close(): Promise<void>;
}

/** What a module with a runtime may use. */
export interface RuntimePorts extends StatePorts {
  /** The current configurations of this module on an edge, one per route, including disabled ones. */
  ownConfigs(edgeId: string): readonly JsonObject[];
  /** The memory that the module declares in `nodeMemory`. An explanation reads it, and writes nothing there. */
  nodeMemory(): NodeMemory;
  /** The instance of a shared runtime that the module declares in `shared`. */
  shared<Runtime extends SharedState>(definition: SharedRuntime<Runtime>): Runtime;
}

/** Services of the program. Every effect of a module goes through them: with ports that do nothing, it does nothing. */
export interface StatePorts {
  readonly clock: Clock;
  readonly timers: ModuleTimers;
  readonly log: ModuleLog;
  readonly network: ModuleNetwork;
  /** Configuration records of the kinds that the module declares in `recordKinds`. */
  readonly records: ModuleRecords;
  /**
   * The same, with the configuration that the module declares in `followedKinds`, for a runtime that acts on changes.
   */
  readonly followed: FollowedRecords;
  /** Reports an event of a type that the module declares in `events`. The node's name is added to the object. */
  event(type: string, object: JsonObject): void;
  /** HMAC-SHA256, in hex, under a separate key per purpose. */
  mac(purpose: string, data: string): string;
  /** Authenticated encryption, as text that fits a cookie; a value sealed for one purpose opens for no other. */
  seal(purpose: string, text: string): string;
  /** Null unless it was sealed here and is unchanged. */
  open(purpose: string, sealed: string): string | null;
  newId(prefix: string): string;
  /** So many random bytes, in base64url: cannot be guessed. */
  randomText(bytes: number): string;
  /** A counter of the metrics page, by the values of one label. Called once per counter. */
  counter(metric: { readonly name: string; readonly help: string; readonly label: string }): (value: string) => void;
}

/**
 * State that several modules share, such as logins: one instance per thread for all that ask for it. A module lists it
 * in `shared` and gets it with `RuntimePorts.shared`. Names and settings here belong to all of these modules.
 */
export interface SharedRuntime<Runtime extends SharedState = SharedState>
  extends Pick<DeclaresDecisions, 'errors'>,
    DeclaresRequestChanges,
    Pick<DeclaresPaths, 'ownPaths' | 'reservedCookies'> {
  readonly name: string;
  readonly settings?: DeclaredSettings;
  /** Settings of the program that it reads beside its own, by name. */
  readonly readsSettings?: readonly string[];
  readonly recordKinds?: readonly string[];
  /** The values are those of its declared rows, and of the settings that it reads. */
  open(ports: SharedPorts, settings: never): Promise<Runtime>;
}

export interface SharedState extends ModuleRuntime {
  /** Every module's runtime is open: nothing more will be registered. */
  modulesOpened?(): Promise<void>;
}

/** What a shared runtime may use. */
export interface SharedPorts extends StatePorts {
  /** The part of the store that was made for logins: they change with traffic, which `records` are not made for. */
  readonly logins: LoginRecords;
  /** What clients may still try, counted for all threads of the node. */
  readonly attempts: AttemptBudgets;
  /** Postern's own OpenID provider; null: it is off. */
  readonly ownIssuer: OwnIssuer | null;
}

export interface ModuleTimers {
  /** Until the returned function is called. A timer does not keep the process running. */
  every(ms: number, task: () => void): () => void;
  sleep(ms: number): Promise<void>;
}

/** Requests to servers outside. */
export interface ModuleNetwork {
  /** Whether the server may connect there at all: never to metadata addresses or to itself. */
  readonly isAddressAllowed: (ip: string, port: number) => boolean;
  /** Bounded, without redirects, within the limits of `isAddressAllowed` and these. */
  readonly createFetch: (
    limits: Pick<GuardedFetchOptions, 'isAddressAllowed' | 'isPlainHttpAllowed' | 'maxBytes' | 'timeoutMs'>,
  ) => GuardedFetch;
}

export interface ModuleLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Records that belong to a module, in the store and its backups, the same for all processes. */
export interface ModuleRecords {
  list(kind: string): readonly ModuleRecord[];
  /** Only if there is none with this id: of two processes that add one at once, both end with the same record. */
  add(kind: string, record: ModuleRecord): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
}

export interface ModuleRecord {
  readonly id: string;
  readonly doc: JsonObject;
  /** One field that is sealed at rest. */
  readonly secret: { readonly field: string; readonly text: string };
}

/** Records as this process currently sees them. */
export interface FollowedRecords {
  all(kind: string): Iterable<FollowedRecord>;
  get(kind: string, id: string): FollowedRecord | undefined;
  /** Called after a change of such records, by this process or another. */
  onChange(listener: (changed: readonly FollowedKey[]) => void): () => void;
  /**
   * Writes records of own kinds in one transaction, each only if it still has the revision that the caller saw, and so
   * do the records that the decision depends on. False: somebody else was faster, or the parent is gone.
   */
  write(puts: readonly OwnRecordPut[], unchanged?: readonly FollowedRecord[]): Promise<boolean>;
  remove(kind: string, id: string): Promise<void>;
  /** Reads what other processes have written up to now. */
  refresh(): Promise<void>;
  /** The same from wherever it is known. Rejects with an outage of the store when that is nowhere. */
  catchUp(): Promise<void>;
  /** False: for some seconds it has been unknown here what other processes deleted. Called per request. */
  isCurrent(): boolean;
  /** The module would now prepare the edges that read this record differently. */
  recompile(kind: string, id: string): void;
}

export interface FollowedKey {
  readonly kind: string;
  readonly id: string;
}

export interface FollowedRecord extends FollowedKey {
  readonly revision: number;
  readonly doc: JsonObject;
}

export interface OwnRecordPut extends FollowedKey {
  /** Id of the record that it is deleted with. */
  readonly parent: string;
  readonly doc: JsonObject;
  /** What the caller saw; undefined: there was none. */
  readonly seen: FollowedRecord | undefined;
}
