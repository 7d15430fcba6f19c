import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';

/** Says once that the database went back; the store calls again for as long as it cannot be read. */
export function reportResets(store: Pick<Store, 'onReset' | 'stats'>, logger: Logger): { close(): void } {
  let reported = 0;
  const close = store.onReset((err) => {
    const { resets } = store.stats();
    if (resets === reported) return;
    reported = resets;
    logger.error(
      { err },
      'the database lost commits that this node has seen: all configuration, logins and claims are read again, and writes are refused until then. What was lost has to be written again',
    );
  });
  return { close };
}
