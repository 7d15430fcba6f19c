import { periodically } from '../../lib/async/periodically.ts';
import type { Clock } from '../../lib/clock.ts';
import type { DeliveryStore } from '../../store/store.ts';
import type { DeliveryLog } from './delivery-ports.ts';

export interface DeliveryUpkeepOptions {
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
