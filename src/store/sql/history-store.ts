import { mapInSlices } from '../../kit/async/slices.ts';
import { storeErrors } from '../errors.ts';
import type {
  HistoryAnchor,
  HistoryDocument,
  HistoryHead,
  HistoryItem,
  HistoryLink,
  HistoryQuery,
  HistoryStore,
  LinkableEntry,
} from '../history-store.ts';
import { KINDS_WITHOUT_HISTORY, PENDING_CHANGE } from '../own-records.ts';
import type { RecordKey } from '../store.ts';
import { readReleased } from './records/judge-references.ts';
import { type Judged, readCounter, readRecords } from './records/record-rows.ts';
import {
  keyText,
  openSecrets,
  parseObject,
  type RecentSeals,
  type SealedRecord,
  type SealedWriteSet,
  type Sealing,
  STORE_QUEUE,
} from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';
import {
  execute,
  executeForTuples,
  integer,
  type Program,
  queryOne,
  type Row,
  type SqlValue,
  statement,
  text,
  textOrNull,
} from './statement.ts';

interface SealedHistoryDocument {
  readonly parent: string | null;
  readonly doc: string;
  readonly secrets: string | null;
}

export interface SealedHistoryItem extends RecordKey {
  readonly before: SealedHistoryDocument | null;
  readonly after: SealedHistoryDocument | null;
}

export interface SealedHistoryEntry {
  readonly revision: number;
  readonly atMs: number;
  readonly author: string;
  readonly message: string;
  readonly chain: string | null;
  readonly count: number;
  /** The first ones: `readHistoryItems` returns the others. */
  readonly items: readonly SealedHistoryItem[];
}

export interface HistorySummaryRow extends Omit<SealedHistoryEntry, 'items'> {
  readonly keys: readonly (RecordKey & { readonly op: 'created' | 'updated' | 'deleted' })[];
}

export const HISTORY_COLUMNS = ['revision', 'at_ms', 'author', 'author_id', 'message', 'chain', 'items'];
export const HISTORY_ITEM_COLUMNS = [
  'revision',
  'position',
  'kind',
  'id',
  'object_id',
  'before_parent',
  'before_doc',
  'before_secrets',
  'after_parent',
  'after_doc',
  'after_secrets',
];
const KEYS_SHOWN = 100;
/** Limit of one answer: an entry may have 100,000 items, and the caller's event loop opens them. */
const ITEMS_PER_PAGE = 250;
const ENTRY = 'revision, at_ms, author, message, chain, items';

export interface HistoryRows {
  readonly entry: SqlValue[];
  readonly items: readonly SqlValue[][];
}

/** The records that a change replaces or deletes; before anything is written. */
export function* readBefore({ puts, gone, found }: Judged): Program<ReadonlyMap<string, SealedRecord>> {
  const replaced = [...puts.keys()].flatMap((key) => found.get(key) ?? []);
  const deleted = yield* readRecords([...gone].flatMap(([key, record]) => (puts.has(key) ? [] : [record])));
  return new Map([...replaced, ...deleted].map((record) => [keyText(record), record]));
}

/** Whether the history will have an entry: only then there is something to revert. */
export function changesDocuments(judged: Judged): boolean {
  return documentsIn(judged).length > 0;
}

function documentsIn({
  puts,
  gone,
}: Judged): readonly (RecordKey & { readonly after: SealedHistoryDocument | null })[] {
  const deleted = [...gone]
    .filter(([key, { kind }]) => !puts.has(key) && kind !== PENDING_CHANGE.kind)
    .map(([, key]) => ({ ...key, after: null }));
  const written = [...puts.values()].map((put) => ({ kind: put.kind, id: put.id, after: put }));
  return [...deleted, ...written].filter(({ kind }) => !KINDS_WITHOUT_HISTORY.has(kind));
}

/** Null: no record changes. A parent that is only touched does not count. */
export function historyRows(
  { note, nowMs, settles }: Pick<SealedWriteSet, 'note' | 'nowMs' | 'settles'>,
  judged: Judged,
  before: ReadonlyMap<string, SealedRecord>,
  revision: number,
): HistoryRows | null {
  if (note === null) return null;
  const items = documentsIn(judged).map(({ kind, id, after }, position): SqlValue[] => {
    const was = before.get(keyText({ kind, id })) ?? null;
    return [
      revision,
      position,
      kind,
      id,
      // A module's record is named after its edge or route.
      id.split('.')[0] ?? id,
      was?.parent ?? null,
      was?.doc ?? null,
      was?.secrets ?? null,
      after?.parent ?? null,
      after?.doc ?? null,
      after?.secrets ?? null,
    ];
  });
  // A confirmation changes no document, and is worth an entry.
  if (items.length === 0 && settles === null) return null;
  return { entry: [revision, nowMs, note.author, note.authorId, note.message, null, items.length], items };
}

function* listHistory(query: HistoryQuery): Program<HistorySummaryRow[]> {
  const conditions: string[] = [];
  const params: SqlValue[] = [];
  const when = (sql: string, param: SqlValue | undefined | null): void => {
    if (param === undefined || param === null) return;
    conditions.push(sql);
    params.push(param);
  };
  when('revision < ?', query.beforeRevision);
  when('at_ms >= ?', query.sinceMs);
  when('at_ms < ?', query.untilMs);
  when('author_id = ?', query.authorId);
  when('revision IN (SELECT revision FROM history_items WHERE object_id = ?)', query.objectId);
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const rows = yield statement(`SELECT ${ENTRY} FROM history ${where} ORDER BY revision DESC LIMIT ?`, [
    ...params,
    query.limit,
  ]);
  const found: HistorySummaryRow[] = [];
  for (const row of rows) {
    const items = yield statement(
      `SELECT kind, id, before_doc IS NULL AS is_new, after_doc IS NULL AS is_gone FROM history_items
        WHERE revision = ? ORDER BY position LIMIT ?`,
      [integer(row, 'revision'), KEYS_SHOWN],
    );
    found.push({ ...headOf(row), keys: items.map(summaryKey) });
  }
  return found;
}

function* readHistory(revision: number): Program<SealedHistoryEntry | null> {
  const row = yield* queryOne(`SELECT ${ENTRY} FROM history WHERE revision = ?`, [revision]);
  return row === null ? null : { ...headOf(row), items: yield* readHistoryItems(revision, 0) };
}

/** A page of the items of an entry, from this position on. */
function* readHistoryItems(revision: number, position: number): Program<SealedHistoryItem[]> {
  const items = yield statement(
    `SELECT ${HISTORY_ITEM_COLUMNS.join(', ')} FROM history_items
      WHERE revision = ? AND position >= ? ORDER BY position LIMIT ?`,
    [revision, position, ITEMS_PER_PAGE],
  );
  return items.map(itemOf);
}

function* readHistoryFollowing(revision: number, limit: number): Program<SealedHistoryEntry[]> {
  const rows = yield statement(`SELECT ${ENTRY} FROM history WHERE revision >= ? ORDER BY revision LIMIT ?`, [
    revision,
    limit,
  ]);
  return yield* startsOf(rows);
}

export interface UnlinkedRows {
  /** Chain of the entry before; null: there is none, and no anchor. */
  readonly previous: string | null;
  readonly entries: readonly SealedHistoryEntry[];
}

function* readUnlinked(limit: number): Program<UnlinkedRows> {
  const linked = yield* readCounter('history_linked');
  const rows = yield statement(`SELECT ${ENTRY} FROM history WHERE revision > ? ORDER BY revision LIMIT ?`, [
    linked,
    limit,
  ]);
  const [first] = rows;
  if (first === undefined) return { previous: null, entries: [] };
  const before = yield* queryOne('SELECT chain FROM history WHERE revision < ? ORDER BY revision DESC LIMIT 1', [
    integer(first, 'revision'),
  ]);
  const anchor = before === null ? yield* readAnchor() : null;
  const entries = yield* startsOf(rows);
  return { previous: before === null ? (anchor?.chain ?? null) : textOrNull(before, 'chain'), entries };
}

const LINK = `UPDATE history SET chain = given.column2 FROM (VALUES %s) AS given
  WHERE history.revision = CAST(given.column1 AS bigint) AND history.chain IS NULL`;

function* linkHistory(links: readonly HistoryLink[]): Program<void> {
  yield* executeForTuples(
    LINK,
    links.map(({ revision, chain }) => [revision, chain]),
  );
  const last = links.at(-1)?.revision ?? 0;
  yield* execute("UPDATE counter SET value = ? WHERE name = 'history_linked' AND value < ?", [last, last]);
}

function* readAnchor(): Program<HistoryAnchor | null> {
  const row = yield* queryOne('SELECT revision, chain FROM history_anchor');
  return row === null ? null : { revision: integer(row, 'revision'), chain: text(row, 'chain') };
}

/**
 * The oldest ones without a gap: a clock that was set back must not break the links. In batches: nothing else can write
 * meanwhile.
 */
function* pruneHistory(beforeMs: number, keep: number): Program<number> {
  const excess = yield* queryOne('SELECT revision FROM history ORDER BY revision DESC LIMIT 1 OFFSET ?', [keep]);
  const newestExcess = excess === null ? 0 : integer(excess, 'revision');
  const oldest = yield statement('SELECT revision, at_ms, chain FROM history ORDER BY revision LIMIT 200', []);
  const pending = yield* queryOne('SELECT revision FROM records WHERE kind = ? AND id = ?', [
    PENDING_CHANGE.kind,
    PENDING_CHANGE.id,
  ]);
  const kept = oldest.findIndex((row) => {
    // The revert of the pending change needs this row.
    if (pending !== null && integer(row, 'revision') >= integer(pending, 'revision')) return true;
    const isOver = integer(row, 'at_ms') < beforeMs || integer(row, 'revision') <= newestExcess;
    return textOrNull(row, 'chain') === null || !isOver;
  });
  const rows = kept === -1 ? oldest : oldest.slice(0, kept);
  const last = rows.at(-1);
  if (last === undefined) return 0;
  const upTo = integer(last, 'revision');
  yield* execute('DELETE FROM history_items WHERE revision <= ?', [upTo]);
  yield* execute('DELETE FROM history WHERE revision <= ?', [upTo]);
  yield* execute('DELETE FROM history_anchor');
  yield* execute('INSERT INTO history_anchor (revision, chain) VALUES (?, ?)', [upTo, text(last, 'chain')]);
  return rows.length;
}

/** As many entries as fit into an answer, at least one. */
function* startsOf(rows: readonly Row[]): Program<SealedHistoryEntry[]> {
  const heads: Omit<SealedHistoryEntry, 'items'>[] = [];
  let total = 0;
  for (const row of rows) {
    if (total > ITEMS_PER_PAGE) break;
    const head = headOf(row);
    total += head.count;
    heads.push(head);
  }
  const [first, last] = [heads[0], heads.at(-1)];
  if (first === undefined || last === undefined) return [];
  const items = yield statement(
    `SELECT ${HISTORY_ITEM_COLUMNS.join(', ')} FROM history_items
      WHERE revision >= ? AND revision <= ? AND position < ? ORDER BY revision, position`,
    [first.revision, last.revision, ITEMS_PER_PAGE],
  );
  const byRevision = Map.groupBy(items, (row) => integer(row, 'revision'));
  return heads.map((head) => ({ ...head, items: (byRevision.get(head.revision) ?? []).map(itemOf) }));
}

function headOf(row: Row): Omit<SealedHistoryEntry, 'items'> {
  return {
    revision: integer(row, 'revision'),
    atMs: integer(row, 'at_ms'),
    author: text(row, 'author'),
    message: text(row, 'message'),
    chain: textOrNull(row, 'chain'),
    count: integer(row, 'items'),
  };
}

function summaryKey(row: Row): HistorySummaryRow['keys'][number] {
  // SQLite has no booleans.
  const isTrue = (column: string): boolean => row[column] === 1 || (row[column] as unknown) === true;
  return {
    kind: text(row, 'kind'),
    id: text(row, 'id'),
    op: isTrue('is_gone') ? 'deleted' : isTrue('is_new') ? 'created' : 'updated',
  };
}

function itemOf(row: Row): SealedHistoryItem {
  return {
    kind: text(row, 'kind'),
    id: text(row, 'id'),
    before: documentOf(row, 'before'),
    after: documentOf(row, 'after'),
  };
}

function documentOf(row: Row, when: 'before' | 'after'): SealedHistoryDocument | null {
  const doc = textOrNull(row, `${when}_doc`);
  if (doc === null) return null;
  return { parent: textOrNull(row, `${when}_parent`), doc, secrets: textOrNull(row, `${when}_secrets`) };
}

const REMOVED = 'the entry was removed from the history while it was read: try again';

/** What the history asks of the engine. */
export const historyPrograms = {
  listHistory,
  readHistory,
  readHistoryFollowing,
  readHistoryItems,
  readUnlinked,
  linkHistory,
  readAnchor,
  pruneHistory,
  readReleased,
} as const;

export function createHistoryStore(engine: SqlEngine<typeof historyPrograms>, seals: RecentSeals): HistoryStore {
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
      yield page.length === 1 ? page.map(opened) : await mapInSlices(STORE_QUEUE, page, opened);
    }
  }
  const opened = (item: SealedHistoryItem): HistoryItem => openItem(item, seals);
  const linkable = (entry: SealedHistoryEntry): LinkableEntry => ({ ...openHead(entry), pages: () => pagesOf(entry) });
  return {
    list: async (query) =>
      (await engine.read('listHistory', query)).map(({ author, message, ...head }) => ({
        ...head,
        note: { author: parseObject(author), message },
      })),
    get: async (revision) => {
      const entry = await engine.read('readHistory', revision);
      return entry === null ? null : { ...openHead(entry), items: (await Array.fromAsync(pagesOf(entry))).flat() };
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

function openHead({ revision, atMs, author, message, chain }: SealedHistoryEntry): HistoryHead {
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
