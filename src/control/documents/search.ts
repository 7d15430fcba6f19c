import { edgeRecord } from '../../edges/record-kinds.ts';
import { TimeSlice } from '../../kit/async/slices.ts';
import type { JsonValue } from '../../kit/json.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { LoginStore, LoginUser, StoredRecord } from '../../store/store.ts';
import type { OperationRequest } from '../resources/operation.ts';
import type { SearchPort, SearchResult } from '../resources/ports.ts';
import { hasScope, scopeOf } from '../resources/scopes.ts';
import type { Catalog, CompiledResource } from './catalog.ts';
import { API_QUEUE } from './long-answer.ts';
import type { Renderer } from './renderer.ts';

/** `rank`: lower is better. */
interface Match {
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
function matchRecord(record: StoredRecord, words: readonly string[], reader: RecordReader): Match | null {
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

/** A text of a record that a search looks at. `field` is the wire name that a result shows. */
interface SearchedText {
  readonly field: string;
  readonly text: string;
}

/** The fields that people know a resource by, best first. Documents hold no secrets: those are stored apart. */
const FIELDS = [
  ...['hostports', 'domain', 'hostname', 'match', 'name', 'email', 'address', 'cidr', 'url', 'labels'],
  ...['description', 'metadata'],
];
/** A route of an edge with a thousand names is found by the first ones. */
const MAX_HOSTS = 10;

/** A route is found by host and path together, as people write it. */
export function* searchedTexts(record: StoredRecord, reader: RecordReader): Generator<SearchedText> {
  yield { field: 'id', text: record.id };
  for (const field of FIELDS) {
    for (const text of textsOf(record.doc[field])) yield { field, text: withoutPort(text) };
  }
  const { match } = record.doc;
  if (typeof match !== 'string') return;
  for (const host of hostsAbove(record, reader)) yield { field: 'match', text: `${host}${match}` };
}

/** What a person calls the resource. */
export function titleOf(record: StoredRecord, reader: RecordReader): string {
  const { match } = record.doc;
  if (typeof match === 'string') return `${hostsAbove(record, reader)[0] ?? ''}${match}`;
  for (const field of FIELDS) {
    const texts = field === 'metadata' ? [] : [...textsOf(record.doc[field])].filter((text) => text !== '');
    if (texts.length > 0) return texts.slice(0, 3).map(withoutPort).join(', ');
  }
  return record.id;
}

function hostsAbove({ parent }: StoredRecord, reader: RecordReader): readonly string[] {
  const edge = parent === null ? undefined : edgeRecord(reader, parent);
  return [...textsOf(edge?.doc['hostports'])].slice(0, MAX_HOSTS).map(withoutPort);
}

function* textsOf(value: JsonValue | undefined): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const each of value) yield* textsOf(each);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) if (typeof each === 'string') yield `${name}=${each}`;
  }
}

function withoutPort(hostport: string): string {
  return hostport.replace(/:443$/, '');
}

interface Found extends Match {
  readonly compiled: CompiledResource;
  readonly record: StoredRecord;
}

const MAX_WORDS = 8;
/** Kinds that a request may name as its user, beside people who logged in. */
const CALLERS = ['service_account', 'guest_link'];
const USERS_AT_ONCE = 500;
const MAX_USERS = 10_000;
/** A word that more names have says little. */
const MAX_IDS = 1_000;
/** More than a page has: beyond it, only better ones are kept. */
const KEPT_PER_LIMIT = 4;

/** Finds configuration resources by the texts that people know them by, in the replica. */
export class Search implements SearchPort {
  readonly #catalog: Catalog;
  readonly #replica: Replica;
  readonly #renderer: Renderer;
  readonly #users: Pick<LoginStore, 'listUsers'>;

  constructor(catalog: Catalog, replica: Replica, renderer: Renderer, users: Pick<LoginStore, 'listUsers'>) {
    this.#catalog = catalog;
    this.#replica = replica;
    this.#renderer = renderer;
    this.#users = users;
  }

  async callers(text: string, { principal }: Pick<OperationRequest, 'principal'>): ReturnType<SearchPort['callers']> {
    const words = wordsOf(text).map((word) => ({ text: word, ids: [] as string[] }));
    const slice = new TimeSlice(API_QUEUE);
    const look = async (id: string, texts: readonly string[]): Promise<void> => {
      if (slice.isOver) await slice.next();
      for (const { text: word, ids } of words) {
        if (ids.length < MAX_IDS && texts.some((each) => each.toLowerCase().includes(word))) ids.push(id);
      }
    };
    for (const kind of CALLERS) {
      const compiled = this.#catalog.compiled.get(kind);
      if (compiled === undefined || !hasScope(principal, scopeOf('GET', compiled.resource.path))) continue;
      for (const record of this.#replica.all(kind))
        await look(
          record.id,
          [...searchedTexts(record, this.#replica)].map((each) => each.text),
        );
    }
    if (!hasScope(principal, scopeOf('GET', '/app/users'))) return words;
    let beforeId: string | null = null;
    for (let seen = 0; seen < MAX_USERS; seen += USERS_AT_ONCE) {
      const users: readonly LoginUser[] = await this.#users.listUsers({ beforeId, limit: USERS_AT_ONCE });
      for (const { id, doc } of users)
        await look(
          id,
          USER_FIELDS.map((name) => doc[name]).filter((value) => typeof value === 'string'),
        );
      beforeId = users.at(-1)?.id ?? null;
      if (users.length < USERS_AT_ONCE) break;
    }
    return words;
  }

  async find(
    text: string,
    limit: number,
    { principal }: Pick<OperationRequest, 'principal'>,
  ): ReturnType<SearchPort['find']> {
    const words = wordsOf(text);
    if (words.length === 0) return { results: [], hasMore: false };
    const found = new BestOf(limit);
    const slice = new TimeSlice(API_QUEUE);
    for (const compiled of this.#catalog.compiled.values()) {
      if (!hasScope(principal, scopeOf('GET', compiled.resource.path))) continue;
      for (const record of this.#replica.all(compiled.kind)) {
        const match = matchRecord(record, words, this.#replica);
        if (match !== null) found.add({ ...match, compiled, record });
        if (slice.isOver) await slice.next();
      }
    }
    return { results: found.best().map((each) => this.#shown(each)), hasMore: found.hasMore };
  }

  #shown({ compiled, record, field }: Found): SearchResult {
    const { id, uri } = this.#renderer.refOf(compiled, record);
    return { kind: compiled.kind, id, uri, title: titleOf(record, this.#replica), matched: field };
  }
}

const USER_FIELDS = ['email', 'name', 'username', 'provider_user_id'];

function wordsOf(text: string): readonly string[] {
  return [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== '').slice(0, MAX_WORDS);
}

/** Keeps the best ones: every record may match. */
class BestOf {
  readonly #limit: number;
  #kept: Found[] = [];
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get hasMore(): boolean {
    return this.#count > this.#limit;
  }

  add(found: Found): void {
    this.#count += 1;
    this.#kept.push(found);
    if (this.#kept.length >= this.#limit * KEPT_PER_LIMIT) this.#kept = this.best();
  }

  /** Equally good ones: the newest first, as ids are in the order of time. */
  best(): Found[] {
    const sorted = this.#kept.sort((a, b) => a.rank - b.rank || (a.record.id < b.record.id ? 1 : -1));
    return sorted.slice(0, this.#limit);
  }
}
