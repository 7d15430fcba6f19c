import { AddressListProblem } from '../lib/net/address-list/list-problem.ts';
import type { BuiltTable, ListFormat } from './built-table.ts';
import type { Validators } from './fetch-list.ts';
import type { ListState } from './list-state.ts';

/** What one look at a source found; null: the same as before. */
export type Reading = { readonly chunks: readonly Uint8Array[]; readonly remember: () => void } | null;

/** A source of entries, and how often it is read. */
export interface ListOrigin {
  readonly id: string;
  readonly source: string;
  /** For messages. */
  readonly subject: string;
  readonly format: ListFormat;
  readonly everyMs: number;
  /** Whether its server may be overloaded: then attempts after a failure become rare. */
  readonly isRemote: boolean;
  read(known: KnownReading, signal: AbortSignal): Promise<Reading>;
}

/** What is remembered of the last reading. */
export interface KnownReading {
  stamp: string | null;
  validators: Validators | null;
}

const FIRST_RETRY_MS = 30_000;
const SPREAD = 0.2;
const MIN_SHARE = 0.5;

/** A list that is followed: its table, and the state of reading its source. */
export class FollowedList {
  readonly origin: ListOrigin;
  readonly known: KnownReading = { stamp: null, validators: null };
  table: BuiltTable | null = null;
  loadedAtMs: number | null = null;
  checkedAtMs: number | null = null;
  error: string | null = null;
  failures = 0;
  nextAtMs = 0;
  running: Promise<void> | null = null;
  /** The reading after that one, for those who asked meanwhile, and whether one of them accepts a smaller list. */
  next: Promise<void> | null = null;
  acceptsSmaller = false;
  /** Its table did not fit beside those of the other lists. */
  isWithoutRoom = false;
  readonly #ended = new AbortController();

  constructor(origin: ListOrigin) {
    this.origin = origin;
  }

  get state(): ListState {
    const { table, error, loadedAtMs, checkedAtMs } = this;
    return {
      status: table === null ? 'missing' : error === null ? 'current' : 'stale',
      entries: table?.entries ?? 0,
      skippedLines: table?.skippedLines ?? 0,
      ...{ loadedAtMs, checkedAtMs, error },
    };
  }

  /** Aborted when nobody needs what is being read. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  end(): void {
    this.#ended.abort();
  }

  succeeded(nowMs: number, random: number): void {
    this.checkedAtMs = nowMs;
    this.error = null;
    this.failures = 0;
    this.nextAtMs = nowMs + this.origin.everyMs * (this.origin.isRemote ? spread(random) : 1);
  }

  failed(error: string, nowMs: number, random: number): void {
    this.error = error;
    this.failures += 1;
    const { isRemote, everyMs } = this.origin;
    const waitMs = isRemote ? Math.min(everyMs, FIRST_RETRY_MS * 2 ** Math.min(this.failures - 1, 20)) : everyMs;
    this.nextAtMs = nowMs + waitMs * (isRemote ? spread(random) : 1);
  }

  /** A list that suddenly has less than half its entries was cut off, or is another one. */
  refuseSmaller(built: BuiltTable): void {
    const before = this.table?.entries ?? 0;
    if (built.entries >= MIN_SHARE * before) return;
    throw new AddressListProblem(
      `has ${built.entries} entries, less than half of the ${before} before, so the former ones stay in use: check the source, then refresh the list with accept_smaller`,
    );
  }
}

/** So that nodes do not ask together. */
function spread(random: number): number {
  return 1 - SPREAD + 2 * SPREAD * random;
}
