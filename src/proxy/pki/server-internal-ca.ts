import type { Logger } from 'pino';
import type { Clock } from '../../kit/clock.ts';
import { loadPart } from '../../kit/load-part.ts';
import { addSealedRecord, type Replica } from '../../store/replica/replica.ts';
import type { Store } from '../../store/store.ts';
import type { InternalCa } from './internal-ca.ts';
import type { AuthorityRecords } from './internal-ca-places.ts';

const KIND = 'internal_ca';

/**
 * The CAs of the server, opened when they are first needed: a process without edge, gateway and API certificate needs
 * none.
 */
export function internalCaOf(parts: {
  readonly config: { readonly data_dir: string; readonly domain: string };
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

/** The kind of the record of the authority that only nodes trust. */
export const PEER_AUTHORITY_KIND = 'peer_authority';

const FIELD = '/private_key';

/** Kept like any secret: sealed at rest, in backups, the same for all processes. */
export function storedAuthorities(store: Store, replica: Replica, kind: string): AuthorityRecords {
  return {
    get: (id) => {
      const record = replica.get(kind, id);
      if (record === undefined) return null;
      return {
        certificatePem: record.doc['certificate'] as string,
        privateKeyPem: JSON.parse(record.secrets?.[FIELD] ?? '""') as string,
      };
    },
    add: (id, { certificatePem: certificate, privateKeyPem: secret }) =>
      addSealedRecord(store, replica, { kind, id, doc: { certificate }, field: FIELD, secret }),
  };
}
