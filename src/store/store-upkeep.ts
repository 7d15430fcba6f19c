import type { Logger } from 'pino';
import { periodically } from '../lib/async/periodically.ts';
import type { Clock } from '../lib/clock.ts';
import type { Store } from './store.ts';

const EVERY_MS = 10 * 60_000;

const DAY_MS = 86_400_000;

/** How much history stays; 0: no limit. */
export interface HistoryLimits {
  readonly maxDays: number;
  readonly maxEntries: number;
}

/** Prunes the store periodically. */
export function startStoreUpkeep(
  store: Pick<Store, 'prune' | 'history'>,
  clock: Clock,
  logger: Logger,
  { maxDays, maxEntries }: HistoryLimits,
  everyMs = EVERY_MS,
): { close(): Promise<void> } {
  return periodically(async () => {
    try {
      await store.prune(clock.nowMs());
      const beforeMs = maxDays === 0 ? 0 : clock.nowMs() - maxDays * DAY_MS;
      const keep = maxEntries === 0 ? Number.MAX_SAFE_INTEGER : maxEntries;
      while ((await store.history.prune(beforeMs, keep)) > 0);
    } catch (err) {
      logger.error({ err }, 'failed to delete expired data from the store');
    }
  }, everyMs);
}
