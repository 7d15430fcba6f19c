import { TimeSlice } from '../../../lib/async/slice-lane.ts';
import { storeErrors } from '../../errors.ts';
import type { HistoryDocument, HistoryHead, HistoryItem, HistoryStore, LinkableEntry } from '../../history-store.ts';
import type { Keyring } from '../../keyring.ts';
import type { RecordKey } from '../../store.ts';
import { STORE_LANE } from '../../store-lane.ts';
import { openSecrets, parseObject } from '../sealing/seal.ts';
import type { SqlEngine } from '../sql-engine.ts';
import type { SealedHistoryDocument, SealedHistoryEntry, SealedHistoryItem } from './history-rows.ts';

const REMOVED = 'the entry was removed from the history while it was read: try again';

export function createHistoryStore(engine: SqlEngine, keyring: Keyring): HistoryStore {
  /** In slices. Throws if the entry is pruned meanwhile. */
  async function* itemsOf({ revision, count, items }: SealedHistoryEntry): AsyncGenerator<HistoryItem> {
    const slice = new TimeSlice(STORE_LANE);
    let page = items;
    for (let position = 0; position < count; position += page.length) {
      if (position > 0) page = await engine.read('readHistoryItems', revision, position);
      if (page.length === 0) throw storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', REMOVED);
      for (const item of page) {
        yield openItem(item, keyring);
        if (slice.isOver) await slice.next();
      }
    }
  }
  const linkable = (entry: SealedHistoryEntry): LinkableEntry => ({ ...headOf(entry), items: () => itemsOf(entry) });
  return {
    list: async (query) =>
      (await engine.read('listHistory', query)).map(({ author, message, ...head }) => ({
        ...head,
        note: { author: parseObject(author), message },
      })),
    get: async (revision) => {
      const entry = await engine.read('readHistory', revision);
      return entry === null ? null : { ...headOf(entry), items: await Array.fromAsync(itemsOf(entry)) };
    },
    released: () => engine.read('readReleased'),
    following: async (revision, limit) => (await engine.read('readHistoryFollowing', revision, limit)).map(linkable),
    unlinked: async (limit) => {
      const { previous, entries } = await engine.read('readUnlinked', limit);
      return { previous: previous ?? '', entries: entries.map(linkable) };
    },
    link: (links) => engine.write('linkHistory', links),
    anchor: () => engine.read('readAnchor'),
    prune: (beforeMs, keep) => engine.write('pruneHistory', beforeMs, keep),
  };
}

function headOf({ revision, atMs, author, message, chain }: SealedHistoryEntry): HistoryHead {
  return { revision, atMs, chain, note: { author: parseObject(author), message } };
}

function openItem({ kind, id, before, after }: SealedHistoryItem, keyring: Keyring): HistoryItem {
  const key = { kind, id };
  return { ...key, before: openDocument(key, before, keyring), after: openDocument(key, after, keyring) };
}

function openDocument(key: RecordKey, sealed: SealedHistoryDocument | null, keyring: Keyring): HistoryDocument | null {
  if (sealed === null) return null;
  const { parent, doc, secrets } = sealed;
  return { parent, doc: parseObject(doc), secrets: openSecrets(key, secrets, keyring) };
}
