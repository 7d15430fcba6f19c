import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { loadPart } from '../lib/load-part.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../store/store.ts';
import type { InternalCa } from './internal-ca.ts';
import { storedAuthorities } from './stored-authorities.ts';

const KIND = 'internal_ca';

/** The CAs of the server, opened when they are first needed: a process without edge, gateway and API certificate needs none. */
export function internalCaOf(parts: {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Logger;
}): () => Promise<InternalCa> {
  const { config, store, replica, clock, logger: log } = parts;
  let opened: Promise<InternalCa> | null = null;
  const open = async (): Promise<InternalCa> => {
    const { openInternalCa } = await loadPart(() => import('./internal-ca.ts'));
    const records = storedAuthorities(store, replica, KIND);
    return openInternalCa({ records, dataDir: config.data_dir, domain: config.domain, clock, log });
  };
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
}
