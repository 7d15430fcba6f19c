import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Counter, Registry } from 'prom-client';
import type { OthersWrites } from '../../../control/api/others-writes.ts';
import type { Catalog } from '../../../control/documents/catalog.ts';
import type { TrafficReporter } from '../../../control/events/event-recorder.ts';
import { routeRecordKinds } from '../../../edges/record-kinds.ts';
import type { Clock } from '../../../kit/clock.ts';
import { createGuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { localhostLookup } from '../../../kit/net/lookups.ts';
import { withDefaults } from '../../../kit/schema/with-defaults.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import type { AttemptBudgets } from '../../../modules/contract/attempt-budgets.ts';
import type {
  FollowedRecords,
  ModuleNetwork,
  ModuleRecords,
  ModuleRuntime,
  ModuleTimers,
  NodeMemory,
  RuntimePorts,
  SharedRuntime,
  SharedState,
  StatePorts,
} from '../../../modules/contract/keeps-state.ts';
import type { LoginRecords } from '../../../modules/contract/login-store.ts';
import type { Module } from '../../../modules/contract/module.ts';
import type { OwnIssuer } from '../../../modules/contract/own-issuer.ts';
import { moduleOfRoute } from '../../../modules/module-config.ts';
import { type ModuleSettings, settingsOf } from '../../../modules/module-settings.ts';
import type { EdgeSnapshot } from '../../../proxy/snapshot/edge-snapshot.ts';
import { addSealedRecord, type FollowedReplica } from '../../../store/replica/replica.ts';
import type { RecordKey, Store } from '../../../store/store.ts';
import type { Config } from '../../settings/schema.ts';
import { inertPorts, readOnlyLogins } from './inert-ports.ts';

const EVERYTHING = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

export interface ModuleRuntimes {
  readonly byModule: ReadonlyMap<string, ModuleRuntime>;
  readonly network: ModuleNetwork;
  edgeChanged(edgeId: string, now: EdgeSnapshot | null): void;
  catchUp(): Promise<void>;
  close(): Promise<void>;
}

/** What modules use of the store. */
type ModuleStore = Pick<Store, 'commit' | 'mac' | 'seal' | 'open'>;

export interface RuntimeDependencies {
  readonly config: Config;
  readonly store: ModuleStore;
  readonly replica: FollowedReplica;
  readonly logins: LoginRecords;
  readonly attempts: AttemptBudgets;
  readonly others: Pick<OthersWrites, 'isCurrent' | 'catchUp'>;
  readonly catalog: Pick<Catalog, 'modules'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly isAddressAllowed: (ip: string, port: number) => boolean;
  readonly traffic: Pick<TrafficReporter, 'moduleEvent'>;
  /** Postern's own OpenID provider; null: it is off. */
  readonly ownIssuer: OwnIssuer | null;
  /** Compiles the edges again that read this record. */
  readonly recompile: (kind: string, id: string) => void;
  /** Which modules share with all threads, and which of these threads this is: -1 for the main thread. */
  readonly nodeMemories: NodeMemories;
  readonly thread: number;
  /** For explanations: nothing that the modules do has an effect. */
  readonly isInert?: true;
}

/** Opens the modules' state in this thread. */
export async function openModuleRuntimes(deps: RuntimeDependencies): Promise<ModuleRuntimes> {
  const { isAddressAllowed } = deps;
  const network = moduleNetwork(isAddressAllowed);
  const ksuid = createKsuidSource();
  const { moduleSettings } = deps.config;
  const logins = deps.isInert === true ? readOnlyLogins(deps.logins) : deps.logins;
  const shared = new Map<SharedRuntime, SharedState>();
  const byModule = new Map<string, ModuleRuntime>();
  for (const module of deps.catalog.modules) {
    for (const definition of module.shared ?? []) {
      if (shared.has(definition)) continue;
      const ofLogins = { logins, attempts: deps.attempts, ownIssuer: deps.ownIssuer };
      const ports = { ...statePorts(definition, deps, network, ksuid), ...ofLogins };
      shared.set(definition, await definition.open(ports, settingsOf(moduleSettings, definition)));
    }
    const ports = {
      ...statePorts(module, deps, network, ksuid),
      ownConfigs: (edgeId: string) => ownConfigs(module, deps.replica, edgeId),
      nodeMemory: () => nodeMemoryOf(module, deps.nodeMemories, deps.thread),
      shared: sharedWith(module, shared),
    };
    const runtime = await module.createRuntime?.(ports, settingsOf(moduleSettings, module));
    if (runtime !== undefined) byModule.set(module.name, runtime);
  }
  for (const runtime of shared.values()) await runtime.modulesOpened?.();
  // What modules share is closed last: they may still use it.
  const all: readonly (readonly [string, ModuleRuntime])[] = [
    ...byModule,
    ...Array.from(shared, ([{ name }, runtime]) => [name, runtime] as const),
  ];
  return {
    byModule,
    network,
    edgeChanged: (edgeId, now) => {
      for (const [name, runtime] of all) runtime.edgeChanged?.(edgeId, routesWith(name, now));
    },
    catchUp: async () => {
      await Promise.all(all.map(async ([, runtime]) => runtime.catchUp?.()));
    },
    close: async () => {
      for (const [, runtime] of all) await runtime.close();
    },
  };
}

/** Requests of modules to servers outside. */
export function moduleNetwork(isAddressAllowed: ModuleNetwork['isAddressAllowed']): ModuleNetwork {
  return {
    isAddressAllowed,
    createFetch: (limits) =>
      createGuardedFetch({
        isAddressAllowed: (ip, port, isTls) => isAddressAllowed(ip, port) && limits.isAddressAllowed(ip, port, isTls),
        isPlainHttpAllowed: (hostname) => limits.isPlainHttpAllowed(hostname),
        lookup: localhostLookup,
        ...(limits.maxBytes !== undefined && { maxBytes: limits.maxBytes }),
        ...(limits.timeoutMs !== undefined && { timeoutMs: limits.timeoutMs }),
      }),
  };
}

function sharedWith(module: Module, opened: ReadonlyMap<SharedRuntime, SharedState>): RuntimePorts['shared'] {
  return (definition) => {
    const runtime = module.shared?.includes(definition) === true ? opened.get(definition) : undefined;
    if (runtime === undefined)
      throw new Error(`the ${module.name} module does not declare that it shares ${definition.name}`);
    return runtime as never;
  };
}

function ownConfigs(module: Module, replica: FollowedReplica, edgeId: string): readonly JsonObject[] {
  const routes = routeRecordKinds.flatMap((kind) => replica.pageOfParent(kind, edgeId, EVERYTHING));
  return routes.flatMap(({ id }) => {
    const record = moduleOfRoute(replica, id, module.name);
    return record === undefined ? [] : [withDefaults(module.config, record.doc)];
  });
}

/** The routes of an edge that have a module, and enabled. */
function routesWith(module: string, edge: EdgeSnapshot | null): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { id, modules } of edge?.routes.all ?? []) if (modules.some(({ name }) => name === module)) ids.add(id);
  return ids;
}

const timers: ModuleTimers = {
  every: (ms, task) => {
    const timer = setInterval(task, ms).unref();
    return () => clearInterval(timer);
  },
  sleep: (ms) => sleep(ms),
};

function statePorts(
  owner: Pick<Module, 'name' | 'recordKinds' | 'followedKinds'>,
  deps: RuntimeDependencies,
  network: ModuleNetwork,
  ksuid: (nowMs: number) => string,
): StatePorts {
  return deps.isInert === true
    ? inertPorts(actualPorts(owner, { ...deps, registry: new Registry() }, network, ksuid))
    : actualPorts(owner, deps, network, ksuid);
}

function actualPorts(
  owner: Pick<Module, 'name' | 'recordKinds' | 'followedKinds'>,
  { store, replica, others, clock, logger, registry, traffic, recompile }: RuntimeDependencies,
  network: ModuleNetwork,
  ksuid: (nowMs: number) => string,
): StatePorts {
  return {
    clock,
    timers,
    log: logger,
    network,
    records: moduleRecords(owner, store, replica),
    followed: followedRecords(owner, { store, replica, recompile, others }),
    event: (type, object) => traffic.moduleEvent(type, object),
    mac: (purpose, data) => store.mac(purpose, data),
    seal: (purpose, text) => store.seal(purpose, text),
    open: (purpose, sealed) => store.open(purpose, sealed),
    newId: (prefix) => `${prefix}_${ksuid(clock.nowMs())}`,
    randomText: (bytes) => randomBytes(bytes).toString('base64url'),
    counter: (metric) => moduleCounter(registry, metric),
  };
}

interface Sources {
  readonly store: Pick<Store, 'commit'>;
  readonly replica: FollowedReplica;
  readonly recompile: (kind: string, id: string) => void;
  readonly others: Pick<OthersWrites, 'isCurrent' | 'catchUp'>;
}

/** Records that a module's runtime follows. Throws for kinds that the module does not declare. */
function followedRecords(
  module: Pick<Module, 'name' | 'recordKinds' | 'followedKinds'>,
  { store, replica, recompile, others }: Sources,
): FollowedRecords {
  const own = new Set(module.recordKinds ?? []);
  const known = new Set([...own, ...(module.followedKinds ?? [])]);
  const declared = (kinds: ReadonlySet<string>, kind: string): string => {
    if (kinds.has(kind)) return kind;
    throw new Error(`the ${module.name} module does not declare the record kind ${kind}`);
  };
  return {
    all: (kind) => replica.all(declared(known, kind)),
    get: (kind, id) => replica.get(declared(known, kind), id),
    onChange: (listener) =>
      replica.onChange((changes) => {
        const followed: RecordKey[] = [];
        for (const change of changes) {
          const { kind, id } = change.op === 'put' ? change.record : change.key;
          if (known.has(kind)) followed.push({ kind, id });
        }
        if (followed.length > 0) listener(followed);
      }, known),
    write: async (puts, unchanged = []) => {
      const committed = await store.commit({
        expect: [
          ...puts.map(({ kind, id, seen }) => ({ kind, id, revision: seen?.revision ?? ('absent' as const) })),
          ...unchanged.map(({ kind, id, revision }) => ({ kind, id, revision })),
        ],
        puts: puts.map(({ kind, id, parent, doc }) => ({
          kind: declared(own, kind),
          id,
          parent,
          doc,
          secrets: null,
          uniqueKeys: [],
          references: [],
        })),
      });
      // The replica was behind: the caller looks again later.
      if (!committed.ok) await replica.refresh();
      return committed.ok;
    },
    remove: async (kind, id) => {
      await store.commit({ deletes: [{ kind: declared(own, kind), id }] });
    },
    refresh: () => replica.refresh(),
    catchUp: () => others.catchUp(),
    isCurrent: () => others.isCurrent,
    recompile,
  };
}

/**
 * A module's counter with one label. Counts are added up when metrics are collected: finding a value's series by its
 * label costs half a microsecond, and modules count requests.
 */
function moduleCounter(
  registry: Registry,
  { name, help, label }: { readonly name: string; readonly help: string; readonly label: string },
): (value: string) => void {
  const counted = new Map<string, number>();
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      for (const [value, count] of counted) this.inc({ [label]: value }, count);
      counted.clear();
    },
  });
  return (value) => counted.set(value, (counted.get(value) ?? 0) + 1);
}

/** Records of the kinds that a module declares. Throws for every other kind: they belong to somebody else. */
export function moduleRecords(
  module: Pick<Module, 'name' | 'recordKinds'>,
  store: Pick<Store, 'commit'>,
  replica: FollowedReplica,
): ModuleRecords {
  const own = (kind: string): string => {
    if (module.recordKinds?.includes(kind) === true) return kind;
    throw new Error(`the ${module.name} module does not declare the record kind ${kind}`);
  };
  return {
    list: (kind) =>
      [...replica.all(own(kind))].map(({ id, doc, secrets }) => {
        const [pointer, sealed] = Object.entries(secrets ?? {})[0] ?? ['/', '""'];
        return { id, doc, secret: { field: pointer.slice(1), text: JSON.parse(sealed) as string } };
      }),
    add: (kind, { id, doc, secret }) =>
      addSealedRecord(store, replica, {
        kind: own(kind),
        id,
        doc,
        field: `/${secret.field}`,
        secret: secret.text,
      }),
    remove: async (kind, id) => {
      await store.commit({ deletes: [{ kind: own(kind), id }] });
    },
  };
}

/** Memory of modules that all threads of the node share, by the name of the module. */
export type NodeMemories = ReadonlyMap<string, SharedArrayBuffer>;

/** The number of the thread that is no worker. */
export const MAIN_THREAD = -1;

/** Once per process. */
export function createNodeMemories(modules: readonly Module[], settings: ModuleSettings): NodeMemories {
  return new Map(
    modules.flatMap((module): [string, SharedArrayBuffer][] =>
      module.nodeMemory === undefined ? [] : [[module.name, module.nodeMemory.create(settingsOf(settings, module))]],
    ),
  );
}

/** A worker has ended. */
export function releaseNodeMemories(modules: readonly Module[], memories: NodeMemories, thread: number): void {
  for (const { name, nodeMemory } of modules) {
    const memory = memories.get(name);
    if (memory !== undefined) nodeMemory?.threadEnded?.(memory, thread);
  }
}

function nodeMemoryOf({ name }: Pick<Module, 'name'>, memories: NodeMemories, thread: number): NodeMemory {
  const memory = memories.get(name);
  if (memory === undefined) throw new Error(`the ${name} module does not declare that it has memory of the node`);
  return { memory, thread };
}
