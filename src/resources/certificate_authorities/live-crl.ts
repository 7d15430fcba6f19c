import Type from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { RecordReader } from '../../replica/record-reader.ts';
import { CRL_FETCH_KIND, CRL_KIND, crlFetchId, crlId, crlUrlOf } from '../../revocation/authority-crl.ts';
import { CRL_STATUSES, crlStatus } from '../../revocation/crl-status.ts';
import { stateFor } from '../../revocation/fetch-state.ts';
import type { StoredRecord } from '../../store/store.ts';
import { type LiveFields, timestamp } from '../resource.ts';
import type { ReadingPorts, SharedPorts } from '../shared-ports.ts';

export type CrlPorts = ReadingPorts & Pick<SharedPorts, 'clock'>;

const orNull = (schema: Type.TSchema, description: string): Type.TSchema =>
  Type.Union([schema, Type.Null()], { description });

/** State of the revocation list in use, uploaded or fetched. */
export const liveCrl: LiveFields<CrlPorts> = {
  schema: {
    crl_status: Type.Enum([...CRL_STATUSES], {
      description:
        'State of the newest revocation list of this authority: "current", "stale" (its next update is overdue), "not_yet_valid" or "missing"; "off" if crl_mode is "off".',
    }),
    crl_updated_at: orNull(
      timestamp('When the list was issued.'),
      'When the newest list was issued (thisUpdate); null without a list.',
    ),
    crl_next_update: orNull(
      timestamp('When the list becomes stale.'),
      'When the next list is due and this one becomes stale (nextUpdate); null without a list.',
    ),
    crl_number: orNull(Type.String(), 'Number of the list, in decimal; null if it has none.'),
    crl_entry_count: Type.Integer({ description: 'How many certificates the list revokes.' }),
    crl_fetched_at: orNull(
      timestamp('When crl_url last responded.'),
      'When crl_url last responded with a usable list; null if it never did.',
    ),
    crl_error: orNull(
      Type.String(),
      'Why the last request to crl_url failed; null if it succeeded. The list in use stays in use.',
    ),
  },
  read: (records, { documents, clock }) =>
    Promise.resolve(new Map(records.map((record) => [record.id, crlFields(record, documents.reader, clock.nowMs())]))),
};

export function crlFields({ id, doc }: StoredRecord, reader: RecordReader, nowMs: number): JsonObject {
  const { status, list } = crlStatus(doc, reader.get(CRL_KIND, crlId(id))?.doc, nowMs);
  const fetching = stateFor(reader.get(CRL_FETCH_KIND, crlFetchId(id))?.doc, crlUrlOf(doc));
  return {
    crl_status: status,
    crl_updated_at: list?.this_update ?? null,
    crl_next_update: list?.next_update ?? null,
    crl_number: list?.number ?? null,
    crl_entry_count: list?.entry_count ?? 0,
    crl_fetched_at: fetching.fetchedAt,
    crl_error: fetching.error,
  };
}
