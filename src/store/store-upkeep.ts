import type { Logger } from 'pino';
import type { Clock } from '../lib/clock.ts';
import type { Store } from './store.ts';

const EVERY_MS = 10 * 60_000;

/** Prunes the store periodically. */
export function startStoreUpkeep(
  store: Pick<Store, 'prune'>,
  clock: Clock,
  logger: Logger,
  everyMs = EVERY_MS,
): { close(): Promise<void> } {
  let running: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    running = running
      .then(() => store.prune(clock.nowMs()))
      .catch((err: unknown) => logger.error({ err }, 'failed to delete expired data from the store'));
  }, everyMs).unref();
  return {
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
