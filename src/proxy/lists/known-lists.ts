import type { JsonObject, JsonValue } from '../../kit/json.ts';
import { AddressTable } from '../../kit/net/address-table.ts';

/** The table of countries has this name among the lists, and is the source of every list with `countries`. */
export const COUNTRIES = 'countries';

/** Where the entries of a list come from. A table from another source does not count. */
export function listSource({ url, file }: JsonObject): string {
  if (isText(url)) return `url ${url}`;
  return isText(file) ? `file ${file}` : COUNTRIES;
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '';
}

/** A list as threads know it: its table in shared memory, or why there is none. */
export interface ListNews {
  /** Id of the list, or COUNTRIES. */
  readonly id: string;
  readonly source: string;
  readonly table: SharedArrayBuffer | null;
  /** Why there is no table; null with one. */
  readonly problem: string | null;
}

interface KnownList extends ListNews {
  readonly addresses: AddressTable | null;
}

type LoadedList = { readonly addresses: AddressTable } | { readonly problem: string };

const LOADING = 'it is being loaded';

/**
 * The lists of this node, as one thread knows them. The main thread loads them and tells workers, which search the same
 * memory.
 */
export class KnownLists {
  readonly #lists = new Map<string, KnownList>();
  readonly #listeners = new Set<(news: ListNews) => void>();
  readonly #forgetters = new Set<(id: string) => void>();

  constructor(lists: readonly ListNews[] = []) {
    for (const news of lists) this.#lists.set(news.id, known(news));
  }

  /** The table of a list with this configuration. */
  of(id: string, config: JsonObject): LoadedList {
    const source = listSource(config);
    const list = this.#lists.get(source === COUNTRIES ? COUNTRIES : id);
    if (list?.source !== source) return { problem: LOADING };
    return list.addresses === null ? { problem: list.problem ?? LOADING } : { addresses: list.addresses };
  }

  all(): readonly ListNews[] {
    return [...this.#lists.values()].map(({ id, source, table, problem }) => ({ id, source, table, problem }));
  }

  tell(news: ListNews): void {
    this.#lists.set(news.id, known(news));
    for (const listener of this.#listeners) listener(news);
  }

  /** The list's record is gone. */
  forget(id: string): void {
    this.#lists.delete(id);
    for (const forgetter of this.#forgetters) forgetter(id);
  }

  onNews(listener: (news: ListNews) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onForget(forgetter: (id: string) => void): () => void {
    this.#forgetters.add(forgetter);
    return () => this.#forgetters.delete(forgetter);
  }
}

function known(news: ListNews): KnownList {
  return { ...news, addresses: news.table === null ? null : new AddressTable(news.table) };
}
