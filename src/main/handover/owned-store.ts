import type { Logger } from 'pino';
import type { StoreSharing } from '../../store/store.ts';
import type { Predecessor } from './predecessor.ts';

/** Resolves when the process before this one has exited, and the store belongs to this one. Never rejects. */
export async function ownedStore(
  predecessor: Predecessor | null,
  sharing: StoreSharing,
  logger: Logger,
): Promise<void> {
  if (predecessor === null) return;
  await predecessor.gone;
  try {
    await sharing.own();
  } catch (err) {
    logger.error({ err }, 'failed to take over the data directory');
  }
}
