import type { HistoryDocument, HistoryEntry, HistoryStore } from '../../history-store.ts';
import type { Keyring } from '../../keyring.ts';
import type { RecordKey } from '../../store.ts';
import { openSecrets, parseObject } from '../sealing/seal.ts';
import type { SqlEngine } from '../sql-engine.ts';
import type { SealedHistoryDocument, SealedHistoryEntry } from './history-rows.ts';

export function createHistoryStore(engine: SqlEngine, keyring: Keyring): HistoryStore {
  const open = (entry: SealedHistoryEntry): HistoryEntry => openEntry(entry, keyring);
  return {
    list: async (query) =>
      (await engine.read('listHistory', query)).map(({ author, message, ...head }) => ({
        ...head,
        note: { author: parseObject(author), message },
      })),
    get: async (revision) => {
      const entry = await engine.read('readHistory', revision);
      return entry === null ? null : open(entry);
    },
    following: async (revision, limit) => (await engine.read('readHistoryFollowing', revision, limit)).map(open),
    unlinked: async (limit) => {
      const { previous, entries } = await engine.read('readUnlinked', limit);
      return { previous: previous ?? '', entries: entries.map(open) };
    },
    link: (links) => engine.write('linkHistory', links),
    anchor: () => engine.read('readAnchor'),
    prune: (beforeMs, keep) => engine.write('pruneHistory', beforeMs, keep),
  };
}

function openEntry({ author, message, items, ...head }: SealedHistoryEntry, keyring: Keyring): HistoryEntry {
  return {
    ...head,
    note: { author: parseObject(author), message },
    items: items.map(({ kind, id, before, after }) => ({
      kind,
      id,
      before: openDocument({ kind, id }, before, keyring),
      after: openDocument({ kind, id }, after, keyring),
    })),
  };
}

function openDocument(key: RecordKey, sealed: SealedHistoryDocument | null, keyring: Keyring): HistoryDocument | null {
  if (sealed === null) return null;
  const { parent, doc, secrets } = sealed;
  return { parent, doc: parseObject(doc), secrets: openSecrets(key, secrets, keyring) };
}
