import { FetchProblem } from '../../kit/http/fetch-problem.ts';
import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { AddressListProblem } from '../../kit/net/address-table.ts';
import { GatheredBytes } from '../../kit/net/waiting-bytes.ts';
import type { BuiltTable, ListFormat } from './kept-tables.ts';

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
  /** The list's table did not fit beside those of the other lists. */
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

/** Validators of the response in use (RFC 9110 §8.8), sent back to ask for something newer. */
interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}

interface ListRequest {
  readonly url: string;
  /** Secret: such as a key of the list's publisher. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: any response is new. */
  readonly known: Validators | null;
  readonly signal: AbortSignal;
}

type FetchedList = { readonly chunks: readonly Uint8Array[]; readonly validators: Validators } | null;

const MAX_VALIDATOR_LENGTH = 512;

/**
 * Requests a list; null: it is unchanged. Rejects with AddressListProblem. Redirects are not followed: headers stay at
 * their origin.
 */
export async function fetchList(
  fetch: GuardedFetch,
  { url, headers, known, signal }: ListRequest,
): Promise<FetchedList> {
  const into = new GatheredBytes();
  const response = await fetch(url, {
    signal,
    into,
    headers: {
      accept: 'text/plain, */*;q=0.5',
      'user-agent': 'postern',
      ...headers,
      'accept-encoding': 'identity',
      ...(known !== null && known.etag !== '' && { 'if-none-match': known.etag }),
      ...(known !== null && known.lastModified !== '' && { 'if-modified-since': known.lastModified }),
    },
  }).catch((error: unknown) => {
    const isRefused = error instanceof FetchProblem && error.reason === 'address_refused';
    const advice = isRefused ? '. The operator can allow it with the setting lists_allow_cidrs' : '';
    throw new AddressListProblem(
      `could not be fetched: ${error instanceof FetchProblem ? error.explanation : 'the request failed'}${advice}`,
    );
  });
  const { status } = response;
  if (status === 304 && known !== null) return null;
  if (status >= 300 && status < 400 && status !== 304) {
    throw new AddressListProblem(
      `was answered with a redirect (${status}), which is not followed: set url to its target`,
    );
  }
  if (status === 401 || status === 403)
    throw new AddressListProblem(`was answered with status ${status}: check the key in headers`);
  if (status !== 200) throw new AddressListProblem(`was answered with status ${status}`);
  if ((response.headers.get('content-encoding') ?? 'identity') !== 'identity')
    throw new AddressListProblem('was answered with a compressed response, which is not read');
  return {
    chunks: into.chunks(),
    validators: {
      etag: validator(response.headers.get('etag')),
      lastModified: validator(response.headers.get('last-modified')),
    },
  };
}

function validator(value: string | null): string {
  return value !== null && value.length <= MAX_VALIDATOR_LENGTH && /^[\x20-\x7e]*$/.test(value) ? value : '';
}

/** What is known about a list, for people. */
export interface ListState {
  /**
   * `current`: loaded, and its source was fine when it was last read. `stale`: an earlier table is used. `missing`:
   * there is none.
   */
  readonly status: 'current' | 'stale' | 'missing';
  readonly entries: number;
  readonly skippedLines: number;
  /** When the entries in use were read. */
  readonly loadedAtMs: number | null;
  /** When the source was last read without a problem. */
  readonly checkedAtMs: number | null;
  /** Why the last attempt failed; null if it succeeded. */
  readonly error: string | null;
}
