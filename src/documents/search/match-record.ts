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

const PART_OF_LABEL = /[\p{L}\p{N}_-]/u;

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
      const rank = (LATE.get(field) ?? 0) + rankOf(lower, word, at);
      if (best === null || rank < best.rank) best = { field, rank };
    }
  }
  return missing.size === 0 ? best : null;
}

/** "wiki" means wiki.example.com before the hundred hosts from wiki-1.example.com on. */
function rankOf(text: string, word: string, at: number): number {
  if (text === word) return 0;
  const isWhole = !PART_OF_LABEL.test(text.charAt(at + word.length));
  if (at === 0) return isWhole ? 0.5 : 1;
  return isWhole && !PART_OF_LABEL.test(text.charAt(at - 1)) ? 1.5 : 2;
}
