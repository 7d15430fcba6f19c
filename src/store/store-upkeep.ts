import type { Logger } from 'pino';
import { periodically } from '../kit/async/waiting.ts';
import type { Clock } from '../kit/clock.ts';
import type { Store } from './store.ts';

const EVERY_MS = 10 * 60_000;

const DAY_MS = 86_400_000;

/** How much history stays; 0: no limit. */
interface HistoryLimits {
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

/** Logs changes of the store's state, each once. */
export function reportStore(
  store: Pick<Store, 'onReset' | 'onHealth' | 'stats' | 'loss'>,
  logger: Logger,
): { close(): void } {
  if (store.loss !== null) logger.error(store.loss);
  const stops = [reportResets(store, logger), reportHealth(store, logger)];
  return {
    close: () => {
      for (const stop of stops) stop();
    },
  };
}

/** The store repeats the call while it cannot be read. */
function reportResets(store: Pick<Store, 'onReset' | 'stats'>, logger: Logger): () => void {
  let reported = 0;
  return store.onReset((err) => {
    const { resets } = store.stats();
    if (resets === reported) return;
    reported = resets;
    logger.error(
      { err },
      'the database lost commits that this node has seen: reloading all configuration, logins and claims. Writes are rejected until the reload is complete. Repeat the lost writes',
    );
  });
}

function reportHealth(store: Pick<Store, 'onHealth'>, logger: Logger): () => void {
  return store.onHealth(({ state, problem }) => {
    if (state === 'ok') logger.info('the store is readable and writable again');
    else if (state === 'degraded')
      logger.warn({ err: problem }, 'the store is degraded: traffic is served from memory');
    else logger.error({ err: problem }, 'the store has failed: writes are rejected, and /healthz reports it');
  });
}
