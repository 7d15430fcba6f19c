import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { atMost } from '../../../kit/async/waiting.ts';
import type { DeliveryStore, LaneLedger } from '../../../store/store.ts';
import type { SendVerdict } from '../destinations/destination-kind.ts';

/** A database that answers does so long before. */
const WAIT_MS = 500;

/**
 * The lanes as the store last described them. Each scrape asks the store once, and waits for it only for a moment:
 * metrics must be served while the store does not answer, when they are needed most.
 */
export class KnownLanes {
  readonly #read: () => Promise<readonly LaneLedger[]>;
  readonly #waitMs: number;
  #known: readonly LaneLedger[] = [];
  #reading: Promise<void> | null = null;
  /** The store was late or failed, and has not answered since: nobody waits for it again. */
  #isLate = false;

  constructor(read: () => Promise<readonly LaneLedger[]>, waitMs = WAIT_MS) {
    this.#read = read;
    this.#waitMs = waitMs;
  }

  async current(): Promise<readonly LaneLedger[]> {
    this.#reading ??= this.#readAgain();
    if (!this.#isLate) await this.#moment(this.#reading);
    return this.#known;
  }

  async #readAgain(): Promise<void> {
    try {
      this.#known = await this.#read();
      this.#isLate = false;
    } catch {
      // The state of the store is a metric of its own, and its problem is in the log.
      this.#isLate = true;
    } finally {
      this.#reading = null;
    }
  }

  async #moment(reading: Promise<void>): Promise<void> {
    if ((await atMost(reading, this.#waitMs, 'late' as const)) === 'late') this.#isLate = true;
  }
}

interface DeliveryMetricsOptions {
  readonly registry: Registry;
  readonly store: Pick<DeliveryStore, 'ledger'>;
}

const LANE = ['subscription', 'destination'] as const;
const ENDS = ['enqueued', 'delivered', 'dead', 'cancelled', 'pruned'] as const;

/**
 * Lanes are read from the store when metrics are scraped: every process with the role reports the same values, the last
 * known ones while the store does not answer.
 */
export class DeliveryMetrics {
  readonly #attempts: Counter<'kind' | 'verdict'>;
  readonly #seconds: Histogram<'kind'>;
  readonly #suspensions: Counter<'reason'>;

  constructor({ registry, store }: DeliveryMetricsOptions) {
    const registers = [registry];
    this.#attempts = new Counter({
      name: 'postern_event_attempts_total',
      help: 'Delivery attempts of this node, by destination kind and result.',
      labelNames: ['kind', 'verdict'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'postern_event_attempt_duration_seconds',
      help: 'Duration of delivery attempts.',
      labelNames: ['kind'],
      buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    });
    this.#suspensions = new Counter({
      name: 'postern_event_destinations_suspended_total',
      help: 'Destinations that this node suspended because they returned 410 (gone) or failed for days (failing).',
      labelNames: ['reason'],
      registers,
    });
    addLaneMetrics(registers, store);
  }

  attempted(kind: string, verdict: SendVerdict, seconds: number): void {
    this.#attempts.inc({ kind, verdict });
    this.#seconds.observe({ kind }, seconds);
  }

  suspended(reason: 'gone' | 'failing'): void {
    this.#suspensions.inc({ reason });
  }
}

function addLaneMetrics(registers: Registry[], store: Pick<DeliveryStore, 'ledger'>): void {
  // All metrics are collected together: they share one read and describe the same moment.
  const lanes = new KnownLanes(() => store.ledger());
  const perLane = (name: string, help: string, read: (lane: LaneLedger) => number | null): void => {
    new Gauge({
      name,
      help,
      labelNames: LANE,
      registers,
      async collect() {
        const all = await lanes.current();
        this.reset();
        for (const lane of all) {
          const value = read(lane);
          if (value !== null) this.set(labelsOf(lane), value);
        }
      },
    });
  };
  new Counter({
    name: 'postern_event_deliveries_total',
    help: 'Deliveries by lane: enqueued, and finished by result.',
    labelNames: [...LANE, 'outcome'],
    registers,
    async collect() {
      const all = await lanes.current();
      this.reset();
      for (const lane of all) for (const outcome of ENDS) this.inc({ ...labelsOf(lane), outcome }, lane[outcome]);
    },
  });
  perLane('postern_event_deliveries_pending', 'Pending deliveries, by lane.', (lane) => lane.pending);
  perLane(
    'postern_event_oldest_pending_timestamp_seconds',
    'Unix time at which the oldest pending delivery was queued, by lane; absent if there is none.',
    ({ oldestPendingMs }) => (oldestPendingMs === null ? null : oldestPendingMs / 1000),
  );
  perLane('postern_event_lane_held', '1 if the destination is paused or suspended, by lane.', (lane) =>
    lane.isHeld ? 1 : 0,
  );
}

function labelsOf({ subscriptionId, destinationId }: LaneLedger): { subscription: string; destination: string } {
  return { subscription: subscriptionId, destination: destinationId };
}
