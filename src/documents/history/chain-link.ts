import { createHmac } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../lib/json.ts';
import type { HistoryDocument, LinkableEntry } from '../../store/store.ts';

/**
 * The link of an entry: it authenticates the entry's plain content and the link before it. So nobody without the key can
 * change, remove or insert an entry without breaking every later link; and sealing secrets under another key breaks none.
 */
export async function chainLink(key: string, previous: string, entry: LinkableEntry): Promise<string> {
  const { revision, atMs, note } = entry;
  const head = canonicalJson([previous, revision, atMs, note.author, note.message]);
  const hmac = createHmac('sha256', key).update(head.slice(0, -1)).update(',[');
  let separator = '';
  for await (const page of entry.pages()) {
    for (const { kind, id, before, after } of page) {
      hmac.update(`${separator}${canonicalJson([kind, id, plain(before), plain(after)])}`);
      separator = ',';
    }
  }
  return hmac.update(']]').digest('hex');
}

function plain(document: HistoryDocument | null): JsonValue {
  return document === null ? null : [document.parent, document.doc, document.secrets && { ...document.secrets }];
}
