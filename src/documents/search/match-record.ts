import type { RecordReader } from '../../replica/record-reader.ts';
import type { StoredRecord } from '../../store/store.ts';
import { searchedTexts } from './searched-texts.ts';

/** `rank`: lower is better. */
export interface Match {
  readonly field: string;
  readonly rank: number;
}

/** Free text comes after names. */
const LATE = new Map([
  ['description', 3],
  ['metadata', 6],
]);

/** Every word must occur in some text of the record. The best place of the first word decides about the order. */
export function matchRecord(record: StoredRecord, words: readonly string[], reader: RecordReader): Match | null {
  let best: Match | null = null;
  const missing = new Set(words);
  for (const { field, text } of searchedTexts(record, reader)) {
    const lower = text.toLowerCase();
    for (const word of words) {
      const at = lower.indexOf(word);
      if (at === -1) continue;
      missing.delete(word);
      const rank = (LATE.get(field) ?? 0) + (lower === word ? 0 : at === 0 ? 1 : 2);
      if (best === null || rank < best.rank) best = { field, rank };
    }
  }
  return missing.size === 0 ? best : null;
}
