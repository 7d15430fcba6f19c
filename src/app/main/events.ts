import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Catalog, CompiledResource } from '../../control/documents/catalog.ts';
import { storedFields } from '../../control/documents/record-puts.ts';
import { Deliverer, startDeliveryUpkeep } from '../../control/events/delivery/deliverer.ts';
import { DeliveryMetrics } from '../../control/events/delivery/delivery-metrics.ts';
import { createDestinationTester, DestinationDirectory } from '../../control/events/delivery/destination-directory.ts';
import { destinationKinds } from '../../control/events/destinations/registry.ts';
import {
  addRecordingMetrics,
  createTrafficReporter,
  EventRecorder,
  type TrafficReporter,
  WantedTypes,
} from '../../control/events/event-recorder.ts';
import type { DestinationTester } from '../../control/resources/event_destinations/event-destinations.ts';
import type { Clock } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { publicAddressGuard } from '../../kit/net/cidr.ts';
import { createKsuidSource } from '../../kit/text/ksuid.ts';
import type { OwnAddresses } from '../../proxy/upstream/upstream-guard.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Store } from '../../store/store.ts';
import type { Config } from '../settings/schema.ts';
import { nodeName } from './cluster/nodes.ts';

export interface EventDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

export interface EventRecording {
  /** Events of agents and tunnels. */
  record(type: string, object: JsonObject): void;
  isWanted(type: string): boolean;
  readonly traffic: TrafficReporter;
  close(): Promise<void>;
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Agents come and go by the thousand when a network fails, but not more. */
const MAX_AGENT_EVENTS = 10_000;

/** Records events that no configuration change causes. Every process has it, whichever process delivers them. */
export function openEventRecording(deps: EventDependencies): EventRecording {
  const { config, store, replica, clock, logger, registry } = deps;
  const wanted = new WantedTypes(replica);
  const newId = idSource(clock);
  const shared = { events: store.events, wanted, accountId: store.accountId, clock, log: logger, newId };
  // One queue each: a flood of requests must not evict agents' events.
  const agents = new EventRecorder({ ...shared, maxQueued: MAX_AGENT_EVENTS });
  const traffic = new EventRecorder({ ...shared, maxQueued: config.events_traffic_queue });
  addRecordingMetrics({ registry, recorders: [agents, traffic], changeEvents: () => store.stats().events });
  return {
    record: (type, object) => agents.record(type, object),
    isWanted: (type) => wanted.has(type),
    traffic: createTrafficReporter(traffic, nodeName(config)),
    close: async () => {
      await Promise.all([agents.close(), traffic.close()]);
    },
  };
}

interface EventDeliveryDependencies extends EventDependencies {
  readonly catalog: Catalog;
  /** Addresses that no event may be sent to. */
  readonly own: OwnAddresses;
  /** Sets a destination's status, as an ordinary change that is reported like any other. */
  suspendDestination(id: string): Promise<void>;
}

interface EventDelivery {
  readonly tester: DestinationTester;
  close(timeoutMs: number): Promise<void>;
}

/** The role that delivers events. */
async function openEventDelivery(deps: EventDeliveryDependencies): Promise<EventDelivery> {
  const { config, store, replica, clock, logger, catalog, registry } = deps;
  const newId = idSource(clock);
  const isPublic = publicAddressGuard(config.events_allow_cidrs);
  const senders = new Map(
    destinationKinds.map((kind) => [
      kind.name,
      kind.createSender({
        clock,
        folder: join(config.data_dir, 'events'),
        fileLimits: { maxBytes: config.events_file_bytes, maxFiles: config.events_file_count },
        timeoutMs: config.events_timeout * SECOND_MS,
        isAddressAllowed: (ip, port) => isPublic(ip) && !deps.own.hasBesidesEdge(ip, port),
      }),
    ]),
  );
  const compiled = catalog.compiled.get('event_destination') as CompiledResource;
  const directory = new DestinationDirectory(replica, (record) => storedFields(compiled, record));
  const metrics = new DeliveryMetrics({ registry, store: store.deliveries });
  const deliverer = await Deliverer.start({
    store: store.deliveries,
    clock,
    log: logger,
    senders,
    policy: {
      retryWindowMs: config.events_retry_hours * HOUR_MS,
      suspendAfterMs: config.events_suspend_days * DAY_MS,
      random: Math.random,
    },
    owner: newId('nd'),
    isAlone: store.engine === 'sqlite',
    maxLanes: config.events_lanes,
    targetOf: (lane) => directory.targetOf(lane),
    suspend: (id) => deps.suspendDestination(id),
    attempted: (kind, verdict, seconds) => metrics.attempted(kind, verdict, seconds),
    suspended: (reason) => metrics.suspended(reason),
  });
  const stopFollowing = replica.onChange(
    (changes) => {
      if (changes.some((change) => change.op === 'put')) deliverer.wake();
    },
    ['event_destination'],
  );
  const upkeep = startDeliveryUpkeep({
    store: store.deliveries,
    clock,
    log: logger,
    deliveredMs: config.events_delivered_days * DAY_MS,
    deadMs: config.events_dead_days * DAY_MS,
    pendingMs: config.events_pending_days * DAY_MS,
  });
  return {
    tester: createDestinationTester({ directory, senders, clock, accountId: store.accountId, newId }),
    close: async (timeoutMs) => {
      stopFollowing();
      await upkeep.close();
      await deliverer.close(timeoutMs);
      for (const sender of senders.values()) await sender.close();
    },
  };
}

/** The role that delivers events, which starts when no other process of this node delivers any. */
export class DeliveryRole {
  readonly #deps: Omit<EventDeliveryDependencies, 'suspendDestination'>;
  /** Null: this process delivers none, or not yet. */
  #delivery: EventDelivery | null = null;
  #isClosing = false;

  constructor(deps: Omit<EventDeliveryDependencies, 'suspendDestination'>) {
    this.#deps = deps;
  }

  /** Null while this process delivers no events. */
  get tester(): DestinationTester | null {
    return this.#delivery?.tester ?? null;
  }

  /** Does nothing without the role, or when the server is stopping. */
  async start(suspendDestination: EventDeliveryDependencies['suspendDestination']): Promise<void> {
    if (this.#isClosing || !this.#deps.config.roles.includes('events')) return;
    this.#delivery = await openEventDelivery({ ...this.#deps, suspendDestination });
  }

  /** The server stops: a delivery that has not started never starts. */
  refuseStart(): void {
    this.#isClosing = true;
  }

  async close(timeoutMs: number): Promise<void> {
    this.#isClosing = true;
    await this.#delivery?.close(timeoutMs);
  }
}

function idSource(clock: Clock): (prefix: string) => string {
  const ksuid = createKsuidSource();
  return (prefix) => `${prefix}_${ksuid(clock.nowMs())}`;
}
