import type { Clock } from '../lib/clock.ts';
import type { ErrorRows } from '../lib/errors.ts';
import type { GuardedFetch, GuardedFetchOptions } from '../lib/http/guarded-fetch.ts';
import type { JsonObject } from '../lib/json.ts';
import type { DeclaredSettings } from '../lib/settings/setting.ts';
import type { LoginRecords } from './login/login-store.ts';

/** State of a module for the whole process, shared by everything that it prepares. */
export interface ModuleRuntime {
  /** An edge was reconfigured or deleted. */
  edgeChanged?(edgeId: string): void;
  /** Called once, when no request is in progress. */
  close(): Promise<void>;
}

/**
 * State that several modules share, such as logins: one instance per process for all that ask for it. A module lists it
 * in `Module.shared` and gets it with `RuntimePorts.shared`. Names and settings here belong to all of these modules.
 */
export interface SharedRuntime<Runtime extends SharedState = SharedState> {
  readonly name: string;
  readonly settings?: DeclaredSettings;
  readonly recordKinds?: readonly string[];
  readonly reservedHeaders?: readonly string[];
  readonly reservedCookies?: readonly string[];
  readonly ownPaths?: readonly string[];
  readonly errors?: { readonly title: string; readonly rows: ErrorRows };
  /** The values are those of its declared rows. */
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
}

/** What a module with a runtime may use. */
export interface RuntimePorts extends StatePorts {
  /** The current configurations of this module on an edge, one per route, including disabled ones. */
  ownConfigs(edgeId: string): readonly JsonObject[];
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
  /** The same, with the configuration that the module declares in `followedKinds`, for a runtime that acts on changes. */
  readonly followed: FollowedRecords;
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

/** Records that belong to a module, in the store and its backups, the same for all processes. */
export interface ModuleRecords {
  list(kind: string): readonly ModuleRecord[];
  /** Only if there is none with this id: of two processes that add one at once, both end with the same record. */
  add(kind: string, record: ModuleRecord): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
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

export interface ModuleRecord {
  readonly id: string;
  readonly doc: JsonObject;
  /** One field that is sealed at rest. */
  readonly secret: { readonly field: string; readonly text: string };
}

export interface ModuleLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
