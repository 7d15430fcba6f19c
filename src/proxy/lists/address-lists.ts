import { Counter, Gauge, type Registry } from 'prom-client';
import { KeyedMutex, Turns } from '../../kit/async/turns.ts';
import type { Clock } from '../../kit/clock.ts';
import { failureCode } from '../../kit/error-text.ts';
import { AddressListProblem } from '../../kit/net/address-table.ts';
import { FollowedList, type ListOrigin, type ListState } from './followed-list.ts';
import { type BuiltTable, KeptTables } from './kept-tables.ts';
import { COUNTRIES, type KnownLists } from './known-lists.ts';
import { ListLoader } from './list-loader.ts';

const LOOK_EVERY_MS = 1_000;
/** Requests that are made at once, and files that are read at once: a server that hangs holds up no file. */
const MAX_AT_ONCE = 4;
/** How long a start, and a write of a list in a file, wait for it. */
const WAIT_MS = 5_000;
/** All tables of a node together. */
const MAX_TABLE_BYTES = 512 * 1024 * 1024;
const UNLOADED: ListState = {
  ...{ status: 'missing', entries: 0, skippedLines: 0, loadedAtMs: null, checkedAtMs: null },
  error: 'it is being loaded',
};

interface AddressListsOptions {
  readonly clock: Clock;
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
  /** Where tables are kept over a restart. */
  readonly folder: string;
  readonly known: KnownLists;
  /** How many attempts failed, by list. */
  readonly countFailure: (id: string) => void;
  readonly random?: () => number;
  readonly loader?: ListLoader;
  readonly maxTableBytes?: number;
}

/**
 * Loads the lists of this node, in its main thread, and keeps them up to date. What was loaded once stays in use until
 * something better was: over failures, and over a restart.
 */
export class AddressLists {
  readonly #options: AddressListsOptions;
  readonly #kept: KeptTables;
  readonly #loader: ListLoader;
  readonly #lists = new Map<string, FollowedList>();
  readonly #writing = new KeyedMutex();
  readonly #requests = new Turns(MAX_AT_ONCE);
  readonly #files = new Turns(MAX_AT_ONCE);
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: AddressListsOptions) {
    this.#options = options;
    this.#kept = new KeptTables(options.folder);
    this.#loader = options.loader ?? new ListLoader();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /**
   * Loads what is on disk, before anything is served. Lists that were never loaded are not waited for, if they are
   * remote.
   */
  async open(origins: readonly ListOrigin[]): Promise<void> {
    const ids = new Set(origins.map(({ id }) => id));
    await this.#kept.keepOnly((id) => ids.has(id));
    for (const origin of origins) {
      const list = new FollowedList(origin);
      this.#lists.set(origin.id, list);
      await this.#restore(list);
    }
    const local = [...this.#lists.values()].filter(({ origin }) => !origin.isRemote);
    await within(Promise.all(local.map((list) => this.#run(list))));
    this.#look();
  }

  /** A list is new, or has another configuration. Resolves when it was read, soon or never: null for a remote one. */
  follow(origin: ListOrigin): Promise<void> | null {
    const before = this.#lists.get(origin.id);
    before?.end();
    const list = new FollowedList(origin);
    if (before?.origin.source === origin.source) {
      const { table, loadedAtMs, checkedAtMs, error, isWithoutRoom, known } = before;
      Object.assign(list, { table, loadedAtMs, checkedAtMs, error, isWithoutRoom });
      // What is being read belongs to a table that will not be used.
      if (before.running === null) Object.assign(list.known, known);
    }
    this.#lists.set(origin.id, list);
    const read = this.#run(list);
    return origin.isRemote ? null : within(read);
  }

  forget(id: string): void {
    this.#lists.get(id)?.end();
    if (!this.#lists.delete(id)) return;
    this.#options.known.forget(id);
    this.#hasRoom();
    void this.#writing.run(id, async () => {
      if (!this.#lists.has(id)) await this.#kept.remove(id);
    });
  }

  isFollowed(id: string): boolean {
    return this.#lists.has(id);
  }

  state(id: string): ListState {
    return this.#lists.get(id)?.state ?? UNLOADED;
  }

  all(): readonly { readonly id: string; readonly state: ListState }[] {
    return [...this.#lists.values()].map(({ origin, state }) => ({ id: origin.id, state }));
  }

  /** Reads the source now. All who ask while it is being read share the next reading. */
  async refresh(id: string, acceptsSmaller: boolean): Promise<void> {
    const list = this.#lists.get(id);
    if (list === undefined) return;
    list.acceptsSmaller ||= acceptsSmaller;
    if (list.running === null) return this.#readAgain(list);
    list.next ??= this.#readNext(list);
    await list.next;
  }

  async #readNext(list: FollowedList): Promise<void> {
    while (list.running !== null) await list.running;
    list.next = null;
    await this.#readAgain(list);
  }

  #readAgain(list: FollowedList): Promise<void> {
    const { acceptsSmaller } = list;
    list.acceptsSmaller = false;
    // The list's bytes were refused, and must be read again.
    if (acceptsSmaller) Object.assign(list.known, { stamp: null, validators: null });
    return this.#run(list, acceptsSmaller);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const list of this.#lists.values()) list.end();
    await this.#loader.close();
    await Promise.all([...this.#lists.values()].flatMap(({ running }) => running ?? []));
  }

  #look(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const list of this.#lists.values()) {
      // A time that is further away than any that is set: a clock was wrong, once.
      const isFar = list.nextAtMs > nowMs + 2 * list.origin.everyMs;
      if (list.running === null && (list.nextAtMs <= nowMs || isFar)) void this.#run(list);
    }
  }

  #run(list: FollowedList, acceptsSmaller = false): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const turns = list.origin.isRemote ? this.#requests : this.#files;
    list.running ??= turns
      .run(() => this.#read(list, acceptsSmaller))
      .finally(() => {
        list.running = null;
      });
    return list.running;
  }

  async #read(list: FollowedList, acceptsSmaller: boolean): Promise<void> {
    // While it waited for its turn.
    if (this.#isClosed || !this.#isCurrent(list)) return;
    const { clock, log, countFailure, random = Math.random } = this.#options;
    const { id, subject } = list.origin;
    const { validators } = list.known;
    try {
      const reading = await list.origin.read(list.known, list.signal);
      if (reading !== null) {
        // Bytes that are refused are not read again until they change.
        reading.remember();
        const built = await this.#loader.build(list.origin.format, reading.chunks, list.signal);
        if (!acceptsSmaller) list.refuseSmaller(built);
        await this.#use(list, built);
      } else if (list.error !== null && list.known.stamp !== null) {
        // The same bytes that were refused.
        list.nextAtMs = clock.nowMs() + list.origin.everyMs;
        return;
      }
      const before = list.error;
      list.succeeded(clock.nowMs(), random());
      if (before !== null && this.#isCurrent(list)) log.info({ ip_policy_list: id }, 'a list is loaded again');
    } catch (error) {
      if (this.#isClosed || !this.#isCurrent(list)) return;
      // An answer that was not used: the next request must not ask for something newer than it.
      list.known.validators = validators;
      const problem = error instanceof AddressListProblem ? error.message : `could not be used (${failureCode(error)})`;
      const why = `${subject} ${problem}`;
      const isNew = list.error !== why;
      list.failed(why, clock.nowMs(), random());
      countFailure(id);
      if (isNew) log.warn({ ip_policy_list: id, why, is_loaded: list.table !== null }, 'failed to load a list');
      if (list.table === null) this.#tell(list);
    }
  }

  async #use(list: FollowedList, built: BuiltTable): Promise<void> {
    if (!this.#isCurrent(list)) return;
    const { clock, maxTableBytes = MAX_TABLE_BYTES } = this.#options;
    const others = [...this.#lists.values()].filter((each) => each !== list);
    const bytes = others.reduce((sum, { table }) => sum + (table?.table.byteLength ?? 0), built.table.byteLength);
    list.isWithoutRoom = bytes > maxTableBytes;
    if (list.isWithoutRoom)
      throw new AddressListProblem(`does not fit: all lists of a node may take ${maxTableBytes} bytes of memory`);
    const isSmaller = built.table.byteLength < (list.table?.table.byteLength ?? 0);
    const isSame = list.table !== null && Buffer.from(list.table.table).equals(Buffer.from(built.table));
    // The former memory stays in use if it says the same, so that nothing is compiled again.
    list.table = isSame && list.table !== null ? { ...built, table: list.table.table } : built;
    list.loadedAtMs = clock.nowMs();
    if (!isSame) this.#tell(list);
    if (isSmaller) this.#hasRoom();
    await this.#keep(list);
  }

  /** Lists that did not fit are read again, although they have not changed. */
  #hasRoom(): void {
    for (const list of this.#lists.values()) {
      if (!list.isWithoutRoom) continue;
      list.known.stamp = null;
      list.nextAtMs = 0;
    }
  }

  #tell({ origin: { id, source }, table, error }: FollowedList): void {
    this.#options.known.tell({ id, source, table: table?.table ?? null, problem: table === null ? error : null });
  }

  /** The database of countries is a file of the operator, which stays where it is. */
  async #keep(list: FollowedList): Promise<void> {
    const { table, loadedAtMs, origin, known } = list;
    if (table === null || loadedAtMs === null || origin.id === COUNTRIES) return;
    const { etag, lastModified } = known.validators ?? { etag: '', lastModified: '' };
    try {
      await this.#writing.run(origin.id, async () => {
        if (!this.#isCurrent(list)) return;
        await this.#kept.write(origin.id, { ...table, source: origin.source, loadedAtMs, etag, lastModified });
      });
    } catch (error) {
      list.known.stamp = null;
      throw new AddressListProblem(
        `is in use, but could not be kept for the next start (${failureCode(error)}): check the data directory`,
      );
    }
  }

  async #restore(list: FollowedList): Promise<void> {
    const { id, source, isRemote } = list.origin;
    if (id === COUNTRIES) return;
    const kept = await this.#kept.read(id);
    if (kept?.source !== source) return;
    const { entries, skippedLines, loadedAtMs, etag, lastModified, table } = kept;
    Object.assign(list, { table: { table, entries, skippedLines }, loadedAtMs });
    if (isRemote) list.known.validators = { etag, lastModified };
    this.#tell(list);
  }

  #isCurrent(list: FollowedList): boolean {
    return this.#lists.get(list.origin.id) === list;
  }
}

/** A file system that hangs must not hang a start or a write. */
async function within(task: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, WAIT_MS).unref();
  await Promise.race([task, promise]);
  clearTimeout(timer);
}

const MS_PER_SECOND = 1000;

/** Figures of the lists of this node, by their ids. Returns what counts a failure. */
export function addListMetrics(
  registry: Registry,
  all: () => readonly { readonly id: string; readonly state: ListState }[],
): (id: string) => void {
  const registers = [registry];
  new Gauge({
    name: 'postern_ip_policy_list_entries',
    help: 'Addresses and ranges of an IP policy list that are in use; 0: it was never loaded. The list "countries" is the country database.',
    labelNames: ['list'],
    registers,
    collect() {
      this.reset();
      for (const { id, state } of all()) this.labels(id).set(state.entries);
    },
  });
  new Gauge({
    name: 'postern_ip_policy_list_last_read_timestamp_seconds',
    help: 'Unix time at which the source of an IP policy list was last read without an error.',
    labelNames: ['list'],
    registers,
    collect() {
      this.reset();
      for (const { id, state } of all()) {
        const readAtMs = state.checkedAtMs ?? state.loadedAtMs;
        if (readAtMs !== null) this.labels(id).set(readAtMs / MS_PER_SECOND);
      }
    },
  });
  const failures = new Counter({
    name: 'postern_ip_policy_list_failures_total',
    help: 'Failed attempts to read the source of an IP policy list.',
    labelNames: ['list'],
    registers,
  });
  return (id) => failures.labels(id).inc();
}
