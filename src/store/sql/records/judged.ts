import type { RecordKey } from '../../store.ts';
import type { SealedPut } from '../sealing/sealed-write-set.ts';

/** What the judgement found out and the writing needs. */
export interface Judged {
  readonly ok: true;
  /** By key; of two puts of one record the later counts. */
  readonly puts: ReadonlyMap<string, SealedPut>;
  /** The records to delete and everything below them. */
  readonly gone: ReadonlyMap<string, RecordKey>;
  /** Revision of every record that the write-set names and that exists. */
  readonly revisions: ReadonlyMap<string, number>;
}
