import type { JsonValue } from '../../lib/json.ts';
import { KSUID_PATTERN } from '../../lib/text/ksuid.ts';
import type { ItemFilter } from './compile-filter.ts';

/** Texts that people know the resource with this id by, such as the hosts of an edge; none if the caller may not read it. */
export type TextsOfId = (id: string) => Iterable<string>;

const MAX_WORDS = 8;
const ID = new RegExp(`^[a-z]+_${KSUID_PATTERN}$`);
/** Shorter parts of an id occur in many. */
const MIN_ID_LENGTH = 8;
/** The same in every item, or nothing that people type. */
const SKIPPED = /^(uri|etag|.+_at|.+_pem|timings|next_page_uri)$/;
/** Numbers that people look for; others occur everywhere. */
const NUMBERS: ReadonlySet<string> = new Set(['status', 'status_code', 'revision']);

/** Items in whose texts every word occurs, in any case, or in those of a resource that they refer to. */
export function textFilter(text: string, textsOfId: TextsOfId): ItemFilter {
  const words = [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== '').slice(0, MAX_WORDS);
  const known = new Map<string, readonly string[]>();
  const ofId = (id: string): readonly string[] => {
    let texts = known.get(id);
    if (texts === undefined) {
      texts = [...textsOfId(id)].filter((each) => !ID.test(each)).map((each) => each.toLowerCase());
      known.set(id, texts);
    }
    return texts;
  };
  return (item) => {
    const missing = new Set(words);
    take(missing, item, '', ofId);
    return missing.size === 0;
  };
}

/** Removes the words that occur in the value. */
function take(missing: Set<string>, value: JsonValue, key: string, ofId: (id: string) => readonly string[]): void {
  if (missing.size === 0) return;
  if (typeof value === 'string') {
    if (value === '') return;
    const text = value.toLowerCase();
    const isId = ID.test(value);
    for (const word of missing) {
      if ((!isId || word.length >= MIN_ID_LENGTH) && text.includes(word)) missing.delete(word);
      else if (isId && ofId(value).some((each) => each.includes(word))) missing.delete(word);
    }
  } else if (typeof value === 'number') {
    if (NUMBERS.has(key)) missing.delete(String(value));
  } else if (Array.isArray(value)) {
    for (const each of value) take(missing, each as JsonValue, key, ofId);
  } else if (value !== null && typeof value === 'object') {
    for (const [name, each] of Object.entries(value))
      if (!SKIPPED.test(name)) take(missing, each as JsonValue, name, ofId);
  }
}
