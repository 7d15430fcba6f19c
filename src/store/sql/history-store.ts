import { mapInSlices } from '../../lib/async/slices.ts';
import { storeErrors } from '../errors.ts';
import type { HistoryDocument, HistoryHead, HistoryItem, HistoryStore, LinkableEntry } from '../history-store.ts';
import type { RecordKey } from '../store.ts';
import type { SealedHistoryDocument, SealedHistoryEntry, SealedHistoryItem } from './history-rows.ts';
import { openSecrets, parseObject, type RecentSeals, type Sealing, STORE_LANE } from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';

const REMOVED = 'the entry was removed from the history while it was read: try again';

export function createHistoryStore(engine: SqlEngine, seals: RecentSeals): HistoryStore {
  /** In slices. Throws if the entry is pruned meanwhile. */
  async function* pagesOf({
    revision,
    count,
    items,
  }: SealedHistoryEntry): AsyncGenerator<readonly HistoryItem[], void, void> {
    let page = items;
    for (let position = 0; position < count; position += page.length) {
      if (position > 0) page = await engine.read('readHistoryItems', revision, position);
      if (page.length === 0) throw storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', REMOVED);
      yield page.length === 1 ? page.map(opened) : await mapInSlices(STORE_LANE, page, opened);
    }
  }
  const opened = (item: SealedHistoryItem): HistoryItem => openItem(item, seals);
  const linkable = (entry: SealedHistoryEntry): LinkableEntry => ({ ...headOf(entry), pages: () => pagesOf(entry) });
  return {
    list: async (query) =>
      (await engine.read('listHistory', query)).map(({ author, message, ...head }) => ({
        ...head,
        note: { author: parseObject(author), message },
      })),
    get: async (revision) => {
      const entry = await engine.read('readHistory', revision);
      return entry === null ? null : { ...headOf(entry), items: (await Array.fromAsync(pagesOf(entry))).flat() };
    },
    released: () => engine.read('readReleased'),
    following: async (revision, limit) => (await engine.read('readHistoryFollowing', revision, limit)).map(linkable),
    unlinked: async (limit) => {
      const { previous, entries } = await engine.read('readUnlinked', limit);
      if (entries.length === 0) seals.forget();
      return { previous: previous ?? '', entries: entries.map(linkable) };
    },
    link: async (links) => {
      await engine.write('linkHistory', links);
      seals.forget();
    },
    anchor: () => engine.read('readAnchor'),
    prune: (beforeMs, keep) => engine.write('pruneHistory', beforeMs, keep),
  };
}

function headOf({ revision, atMs, author, message, chain }: SealedHistoryEntry): HistoryHead {
  return { revision, atMs, chain, note: { author: parseObject(author), message } };
}

function openItem({ kind, id, before, after }: SealedHistoryItem, seals: Sealing): HistoryItem {
  const key = { kind, id };
  return { ...key, before: openDocument(key, before, seals), after: openDocument(key, after, seals) };
}

function openDocument(key: RecordKey, sealed: SealedHistoryDocument | null, seals: Sealing): HistoryDocument | null {
  if (sealed === null) return null;
  const { parent, doc, secrets } = sealed;
  return { parent, doc: parseObject(doc), secrets: openSecrets(key, secrets, seals) };
}
