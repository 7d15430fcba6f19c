import type { RecordKey } from '../../store.ts';
import type { SealedPut } from '../sealing/sealed-write-set.ts';
import type { FoundRecord } from './record-rows.ts';

/** Results of the judgment that the writing needs. */
export interface Judged {
  readonly ok: true;
  /** By key; of two puts of one record the later one counts. */
  readonly puts: ReadonlyMap<string, SealedPut>;
  /** The records to delete, with all their descendants. */
  readonly gone: ReadonlyMap<string, RecordKey>;
  /** Keys of puts and of `gone` that only take rights away: a pending change lets go of them. */
  readonly revoked: ReadonlySet<string>;
  /** The existing records that it puts, as they are before. It may contain others. */
  readonly found: ReadonlyMap<string, FoundRecord>;
}
