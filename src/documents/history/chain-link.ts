import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../lib/json.ts';
import type { HistoryDocument, HistoryEntry } from '../../store/store.ts';

/**
 * The link of an entry: it authenticates the entry's plain content and the link before it. So nobody without the key can
 * change, remove or insert an entry without breaking every later link; and sealing secrets under another key breaks none.
 */
export function chainLink(key: string, previous: string, { revision, atMs, note, items }: HistoryEntry): string {
  const content: JsonValue = [
    previous,
    revision,
    atMs,
    note.author,
    note.message,
    items.map(({ kind, id, before, after }) => [kind, id, plain(before), plain(after)]),
  ];
  return createHmac('sha256', key).update(canonicalJson(content)).digest('hex');
}

export function isLink(link: string, expected: string): boolean {
  const [a, b] = [Buffer.from(link), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function plain(document: HistoryDocument | null): JsonValue {
  return document === null ? null : [document.parent, document.doc, document.secrets && { ...document.secrets }];
}
