import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { addSealedRecord } from '../replica/add-sealed-record.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../store/store.ts';
import type { AuthorityRecords } from './authority-records.ts';
import { type InternalCa, openInternalCa } from './internal-ca.ts';

const KIND = 'internal_ca';
const FIELD = '/private_key';

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
  return () => {
    const records = authorityRecords(store, replica);
    opened ??= openInternalCa({ records, dataDir: config.data_dir, domain: config.domain, clock, log });
    return opened;
  };
}

/** Kept like any secret: sealed at rest, in backups, the same for all processes. */
function authorityRecords(store: Store, replica: Replica): AuthorityRecords {
  return {
    get: (id) => {
      const record = replica.get(KIND, id);
      if (record === undefined) return null;
      return {
        certificatePem: record.doc['certificate'] as string,
        privateKeyPem: JSON.parse(record.secrets?.[FIELD] ?? '""') as string,
      };
    },
    add: (id, { certificatePem: certificate, privateKeyPem: secret }) =>
      addSealedRecord(store, replica, { kind: KIND, id, doc: { certificate }, field: FIELD, secret }),
  };
}
