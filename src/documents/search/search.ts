import { TimeSlice } from '../../lib/async/slice-lane.ts';
import type { Replica } from '../../replica/replica.ts';
import type { SearchPort, SearchResult } from '../../resources/documents-ports.ts';
import type { OperationRequest } from '../../resources/operation.ts';
import type { LoginStore, LoginUser, StoredRecord } from '../../store/store.ts';
import { API_LANE } from '../api-lane.ts';
import type { Catalog } from '../catalog.ts';
import type { CompiledResource } from '../compiled.ts';
import type { Renderer } from '../renderer.ts';
import { hasScope, scopeOf } from '../scopes.ts';
import { type Match, matchRecord } from './match-record.ts';
import { searchedTexts, titleOf } from './searched-texts.ts';

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
    const slice = new TimeSlice(API_LANE);
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
    const slice = new TimeSlice(API_LANE);
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
