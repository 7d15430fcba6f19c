import { periodically } from '../../../kit/async/waiting.ts';
import type { Clock } from '../../../kit/clock.ts';
import { isStoreOutage } from '../../../kit/error-text.ts';
import type { ClaimedLane, DeliveryStore, LaneKey } from '../../../store/store.ts';
import { LaneRun, SendPace } from './lane-run.ts';
import type { DeliveryLog, DeliveryPorts } from './retry-rules.ts';

export interface DelivererOptions extends DeliveryPorts {
  /** Unique per start of this process. */
  readonly owner: string;
  /** No other process uses this store. */
  readonly isAlone: boolean;
  readonly maxLanes: number;
}

/** Another process may take over the lanes of a dead one after this time; a live process renews well before. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
/** A lane that was not renewed is abandoned this long before others may claim it. */
const LEASE_MARGIN_MS = 1_000;
const POLL_MS = 1_000;
const DELIVERIES_AT_ONCE = 32;
/** During a burst, lanes are searched for once per this interval instead of at every change. */
const BURST_LOOK_MS = 50;

/**
 * Runs the lanes that are due, many at once. It looks for lanes when an event was enqueued here, when the next lane is
 * due, when a lane has ended, and every second: other processes enqueue too.
 *
 * States: *looking* (asking for lanes that are due), *idle* (a timer runs), *closed*.
 */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #runs = new Map<string, LaneRun>();
  readonly #ended = new Set<Promise<void>>();
  readonly #pace = new SendPace();
  readonly #unsubscribe: () => void;
  #looking: Promise<void> | null = null;
  #mustLookAgain = false;
  #timer: NodeJS.Timeout | null = null;
  #burstTimer: NodeJS.Timeout | null = null;
  #renewal: NodeJS.Timeout | null = null;
  #renewedUntilMs = 0;
  #isClosed = false;

  private constructor(options: DelivererOptions) {
    this.#options = options;
    const stopHearing = options.store.onEnqueued(() => this.#enqueued());
    // After a reset, fences and deliveries may belong to a discarded history: a new claim finds what is pending now.
    const stopResets = options.store.onReset(() => {
      for (const run of this.#runs.values()) run.lose();
    });
    this.#unsubscribe = () => {
      stopHearing();
      stopResets();
    };
  }

  static async start(options: DelivererOptions): Promise<Deliverer> {
    await options.store.wakeLanes(options.clock.nowMs(), { isAlone: options.isAlone }).catch((err: unknown) => {
      // Claims of the process before end by themselves, and destinations that are paused are tried later.
      if (!isStoreOutage(err)) throw err;
      options.log.warn({ err }, 'failed to wake the deliveries of events: they go on when the store can be written');
    });
    const deliverer = new Deliverer(options);
    deliverer.#renewal = setInterval(() => void deliverer.#renew(), RENEW_MS).unref();
    deliverer.wake();
    return deliverer;
  }

  /** Looks for lanes that are due. */
  wake(): void {
    if (this.#isClosed) return;
    if (this.#looking !== null) {
      this.#mustLookAgain = true;
      return;
    }
    this.#looking = this.#look().finally(() => {
      this.#looking = null;
      if (!this.#mustLookAgain) return;
      this.#mustLookAgain = false;
      this.wake();
    });
  }

  /** Waits up to `timeoutMs` for deliveries in progress, then cancels them, and releases all lanes. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    this.#unsubscribe();
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#burstTimer !== null) clearTimeout(this.#burstTimer);
    for (const run of this.#runs.values()) run.stop();
    await this.#looking;
    const cut = setTimeout(() => {
      for (const run of this.#runs.values()) run.cut();
    }, timeoutMs);
    await Promise.all(this.#ended);
    clearTimeout(cut);
    if (this.#renewal !== null) clearInterval(this.#renewal);
  }

  #enqueued(): void {
    this.#pace.enqueued();
    if (!this.#pace.isBurst) {
      this.wake();
      return;
    }
    this.#burstTimer ??= setTimeout(() => {
      this.#burstTimer = null;
      this.wake();
    }, BURST_LOOK_MS).unref();
  }

  async #look(): Promise<void> {
    const { store, clock, owner, maxLanes, log } = this.#options;
    try {
      for (;;) {
        const free = maxLanes - this.#runs.size;
        // The end of a lane triggers another look.
        if (free <= 0 || this.#isClosed) return;
        const nowMs = clock.nowMs();
        const untilMs = nowMs + LEASE_MS;
        const { lanes, nextDueMs } = await store.claim({
          owner,
          nowMs,
          untilMs,
          maxLanes: free,
          maxDeliveries: DELIVERIES_AT_ONCE,
        });
        if (this.#runs.size === 0) this.#renewedUntilMs = untilMs;
        for (const lane of lanes) this.#run(lane);
        if (lanes.length > 0) continue;
        this.#lookIn(nextDueMs === null ? POLL_MS : Math.min(POLL_MS, Math.max(20, nextDueMs - nowMs)));
        return;
      }
    } catch (err) {
      log.error({ err }, 'failed to read the event lanes');
      this.#lookIn(POLL_MS);
    }
  }

  #lookIn(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.wake(), ms).unref();
  }

  #run(lane: ClaimedLane): void {
    const { owner, log } = this.#options;
    const run = new LaneRun(lane, {
      ports: this.#options,
      owner,
      pace: this.#pace,
      leaseMs: LEASE_MS,
      maxDeliveries: DELIVERIES_AT_ONCE,
    });
    const key = keyOf(lane);
    this.#runs.set(key, run);
    if (this.#isClosed) run.stop();
    const ended = run
      .run()
      .catch((err: unknown) => {
        // The store is unavailable: the lease expires, and the first process to claim the lane continues.
        log.error({ err, subscription: lane.subscriptionId, destination: lane.destinationId }, 'an event lane failed');
      })
      .finally(() => {
        this.#ended.delete(ended);
        if (this.#runs.get(key) === run) this.#runs.delete(key);
        this.wake();
      });
    this.#ended.add(ended);
  }

  async #renew(): Promise<void> {
    const { store, clock, owner, log } = this.#options;
    const before = [...this.#runs];
    if (before.length === 0) return;
    const untilMs = clock.nowMs() + LEASE_MS;
    try {
      // Only running lanes: the lease of a lane that failed must expire.
      const lanes = before.map(([, run]) => run.lane);
      const kept = await store.renew(
        owner,
        lanes.map(({ subscriptionId, destinationId }) => ({ subscriptionId, destinationId })),
        untilMs,
      );
      const held = new Map(kept.map((lane) => [keyOf(lane), lane.fence]));
      this.#renewedUntilMs = untilMs;
      for (const [key, run] of before) if (held.get(key) !== run.lane.fence) run.lose();
    } catch (err) {
      log.error({ err }, 'failed to renew the event lanes');
      if (clock.nowMs() < this.#renewedUntilMs - LEASE_MARGIN_MS) return;
      for (const [, run] of before) run.lose();
    }
  }
}

function keyOf({ subscriptionId, destinationId }: LaneKey): string {
  return `${subscriptionId} ${destinationId}`;
}

interface DeliveryUpkeepOptions {
  readonly store: Pick<DeliveryStore, 'prune'>;
  readonly clock: Clock;
  readonly log: DeliveryLog;
  /** Retention: delivered and cancelled deliveries, dead ones, and those that nobody claimed. */
  readonly deliveredMs: number;
  readonly deadMs: number;
  readonly pendingMs: number;
  readonly everyMs?: number;
}

const EVERY_MS = 10 * 60_000;

/** Deletes expired deliveries, at the start and periodically. */
export function startDeliveryUpkeep(options: DeliveryUpkeepOptions): { close(): Promise<void> } {
  const { store, clock, log } = options;
  async function prune(): Promise<void> {
    const nowMs = clock.nowMs();
    try {
      const count = await store.prune({
        nowMs,
        endedBeforeMs: nowMs - options.deliveredMs,
        deadBeforeMs: nowMs - options.deadMs,
        pendingBeforeMs: nowMs - options.pendingMs,
      });
      if (count > 0) log.info({ count }, 'deleted expired event deliveries');
    } catch (err) {
      log.error({ err }, 'failed to delete expired event deliveries');
    }
  }
  const upkeep = periodically(prune, options.everyMs ?? EVERY_MS);
  void upkeep.run();
  return upkeep;
}
