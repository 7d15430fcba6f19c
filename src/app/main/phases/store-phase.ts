import { Registry } from 'prom-client';
import { type Catalog, createCatalog } from '../../../control/documents/catalog.ts';
import { resources } from '../../../control/resources/registry.ts';
import { type Clock, systemClock } from '../../../kit/clock.ts';
import { LatePart } from '../../../kit/late-part.ts';
import { addLogMetrics, createLog, followBugs, type ServerLog } from '../../../kit/logging/logger.ts';
import type { DescriptorBudget } from '../../../kit/process/descriptor-budget.ts';
import { modules } from '../../../modules/registry.ts';
import type { Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import { prepareDataDir } from '../../../store/data-directory.ts';
import { Replica } from '../../../store/replica/replica.ts';
import type { Store } from '../../../store/store.ts';
import { reportStore, startStoreUpkeep } from '../../../store/store-upkeep.ts';
import type { NodeCounts } from '../../../tunnel/nodes/membership/known-nodes.ts';
import type { Config } from '../../settings/schema.ts';
import type { OpenedGateway } from '../cluster/gateway.ts';
import { addNodeMetrics, nodeName, type OpenedNodes, openNodes } from '../cluster/nodes.ts';
import { openDescriptorBudget } from '../data-plane/descriptors.ts';
import { ownedStore, type Predecessor } from '../handover/predecessor.ts';
import { openStore } from '../open-store.ts';
import type { ServerOptions } from '../running-server.ts';
import { ListeningSockets } from '../sockets/listening-sockets.ts';
import { type EdgeWorkers, workersOf } from '../workers/edge-workers.ts';

/** What the server was asked to be. */
export interface ServerStart {
  readonly config: Config;
  readonly options: ServerOptions;
  /** The process that this one takes over from; null: there is none. */
  readonly predecessor: Predecessor | null;
  readonly sockets: ListeningSockets;
  /** Parts of the data plane that earlier phases ask when a request, another node or a timer asks them. */
  readonly late: LateParts;
}

export interface LateParts {
  /** Null: this server accepts no agents. */
  readonly gateway: LatePart<OpenedGateway | null>;
  /** Null: the server's own thread serves visitors. */
  readonly workers: LatePart<EdgeWorkers | null>;
  readonly snapshots: LatePart<Snapshots>;
}

export function planStart(config: Config, options: ServerOptions): ServerStart {
  const { predecessor = null, sockets = predecessor?.sockets ?? new ListeningSockets() } = options;
  const late: LateParts = {
    gateway: new LatePart('the gateway'),
    workers: new LatePart('the data plane in workers'),
    snapshots: new LatePart('the data plane'),
  };
  return { config, options, predecessor, sockets, late };
}

export interface StoreOpened extends ServerStart, Pick<ServerLog, 'logger' | 'requestLogger' | 'apiRequestLogger'> {
  readonly log: ServerLog;
  readonly store: Store;
  /** All records, in memory. */
  readonly replica: Replica;
  /** Resolves when no other process works on an SQLite store. */
  readonly owned: Promise<void>;
}

/** The log, and the store with its copy in memory. */
export async function openStorePhase(start: ServerStart, opened: AsyncDisposableStack): Promise<StoreOpened> {
  const { config, options, predecessor } = start;
  const log = createLog(config.log_level, options.logDestination, nodeName(config));
  const { logger, requestLogger, apiRequestLogger } = log;
  opened.defer(() => log.flush());

  predecessor?.refuseOtherDirectory(config.data_dir);
  await prepareDataDir(config.data_dir);
  const clock = options.clock ?? systemClock;
  const store = await openStore(config, clock, predecessor?.store.commit);
  opened.defer(() => store.close());
  const owned = ownedStore(predecessor, store.sharing, logger);
  const reports = reportStore(store, logger);
  opened.defer(() => reports.close());
  const upkeep = startStoreUpkeep(store, clock, logger, {
    maxDays: config.history_max_age,
    maxEntries: config.history_max_entries,
  });
  opened.defer(() => upkeep.close());
  const replica = await Replica.open(store);
  opened.defer(() => replica.close());
  return { ...start, log, logger, requestLogger, apiRequestLogger, store, replica, owned };
}

export interface ConfigurationFollowed extends StoreOpened, Pick<OpenedNodes, 'membership' | 'links' | 'news'> {
  readonly nodes: OpenedNodes;
  /**
   * The same on all nodes: a login or a trial may begin on one and end on another, and one of them may have a wrong
   * clock.
   */
  readonly clock: Clock;
  readonly catalog: Catalog;
  /** Metrics. */
  readonly registry: Registry;
  /** Threads that serve visitors; 1: the server's own. */
  readonly workerCount: number;
  readonly descriptors: DescriptorBudget;
}

/** This node hears of every change of the configuration, its own ones and those of other nodes. */
export async function followConfiguration(
  earlier: StoreOpened,
  opened: AsyncDisposableStack,
): Promise<ConfigurationFollowed> {
  const { config, options, log, logger, late } = earlier;
  const nodes = await openNodes({
    ...earlier,
    counts: () => nodeCounts(late.gateway.ifOpen),
    monotonicMs: options.monotonicMs,
    clock: options.clock ?? systemClock,
  });
  opened.defer(() => nodes.drain(0));
  opened.defer(() => nodes.leave());
  const { membership, links, news } = nodes;

  const catalog = createCatalog(resources, options.modules ?? modules);
  const registry = new Registry();
  addLogMetrics(registry, log);
  addNodeMetrics(registry, membership.self);
  opened.defer(followBugs(logger, registry));
  const workerCount = config.roles.includes('edge') ? workersOf(config) : 1;
  const { budget: descriptors } = opened.adopt(
    openDescriptorBudget({ registry, logger, isOneOfSeveral: workerCount > 1 }),
    (it) => it.close(),
  );
  const clock = options.clock ?? membership;
  return { ...earlier, nodes, membership, links, news, clock, catalog, registry, workerCount, descriptors };
}

function nodeCounts(gateway: OpenedGateway | null): NodeCounts {
  const { sessions = 0, tunnels = 0 } = gateway?.gateway.counts ?? {};
  return { agents: sessions, tunnels };
}
