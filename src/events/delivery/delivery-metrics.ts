import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../lib/clock.ts';
import type { DeliveryStore, LaneLedger } from '../../store/store.ts';
import type { SendVerdict } from '../destinations/destination-kind.ts';

export interface DeliveryMetricsOptions {
  readonly registry: Registry;
  readonly store: Pick<DeliveryStore, 'ledger'>;
  readonly clock: Clock;
}

const LANE = ['subscription', 'destination'] as const;
const ENDS = ['enqueued', 'delivered', 'dead', 'cancelled', 'pruned'] as const;

/** Lanes are read from the store when metrics are scraped: every process with the role reports the same values. */
export class DeliveryMetrics {
  readonly #attempts: Counter<'kind' | 'verdict'>;
  readonly #seconds: Histogram<'kind'>;
  readonly #suspensions: Counter<'reason'>;

  constructor({ registry, store, clock }: DeliveryMetricsOptions) {
    const registers = [registry];
    this.#attempts = new Counter({
      name: 'postern_event_attempts_total',
      help: 'Attempts of this process to deliver an event, by kind of destination and what came of it.',
      labelNames: ['kind', 'verdict'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'postern_event_attempt_seconds',
      help: 'How long attempts took.',
      labelNames: ['kind'],
      buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    });
    this.#suspensions = new Counter({
      name: 'postern_event_destinations_suspended_total',
      help: 'Destinations that this process suspended, because they answered 410 (gone) or had failed for days (failing).',
      labelNames: ['reason'],
      registers,
    });
    addLaneMetrics(registers, store, clock);
  }

  attempted(kind: string, verdict: SendVerdict, seconds: number): void {
    this.#attempts.inc({ kind, verdict });
    this.#seconds.observe({ kind }, seconds);
  }

  suspended(reason: 'gone' | 'failing'): void {
    this.#suspensions.inc({ reason });
  }
}

function addLaneMetrics(registers: Registry[], store: Pick<DeliveryStore, 'ledger'>, clock: Clock): void {
  const lanes = sharedRead(() => store.ledger());
  const perLane = (name: string, help: string, read: (lane: LaneLedger) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: LANE,
      registers,
      async collect() {
        const all = await lanes();
        this.reset();
        for (const lane of all) this.set(labelsOf(lane), read(lane));
      },
    });
  };
  new Counter({
    name: 'postern_event_deliveries_total',
    help: 'Deliveries by lane: how many were enqueued, and how many ended in which way.',
    labelNames: [...LANE, 'outcome'],
    registers,
    async collect() {
      const all = await lanes();
      this.reset();
      for (const lane of all) for (const outcome of ENDS) this.inc({ ...labelsOf(lane), outcome }, lane[outcome]);
    },
  });
  perLane('postern_event_deliveries_pending', 'Deliveries that wait, by lane.', (lane) => lane.pending);
  perLane(
    'postern_event_oldest_pending_seconds',
    'Age of the oldest delivery that waits, by lane; 0 when none does.',
    ({ oldestPendingMs }) => (oldestPendingMs === null ? 0 : Math.max(0, clock.nowMs() - oldestPendingMs) / 1000),
  );
  perLane('postern_event_lane_held', '1 where the destination is paused or suspended, by lane.', (lane) =>
    lane.isHeld ? 1 : 0,
  );
}

function labelsOf({ subscriptionId, destinationId }: LaneLedger): { subscription: string; destination: string } {
  return { subscription: subscriptionId, destination: destinationId };
}

/** All metrics are collected together: they share one read and describe the same moment. */
function sharedRead<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | null = null;
  return () => {
    current ??= read().finally(() => {
      current = null;
    });
    return current;
  };
}
