import { randomUUID } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import { type SliceQueue, TimeSlice } from '../../kit/async/slices.ts';
import type { Clock } from '../../kit/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { writeDurably } from '../../kit/process/durable-file.ts';
import type { InstallationRequests } from './requests/installation-requests.ts';
import type { InstallationSeries } from './series/installation-series.ts';

const SAVE_EVERY_MS = 60_000;
const KEPT_MS = 3_600_000;
const MAX_REQUESTS = 2_000;
const MAX_ROUTES = 100;
const MAX_BYTES = 16 * 1_048_576;
const VERSION = 1;
const MODE = 0o600;
/** More than the first line has. */
const MAX_HEAD = 256;

export interface KeptTrafficOptions {
  readonly path: string;
  readonly requests: Pick<InstallationRequests, 'ownList' | 'keepEarlier'>;
  readonly series: Pick<InstallationSeries, 'ownState' | 'keepEarlier'>;
  readonly clock: Clock;
  readonly queue: SliceQueue;
  /** What may be shown of a request now: the settings may have changed since it was kept. */
  readonly shown: (request: JsonObject) => JsonObject;
  readonly onProblem: (error: unknown) => void;
}

/**
 * The requests and series of the last hour in a file, so that an upgrade does not forget them. It has what the API
 * shows, and is written once a minute if anything changed, never for a request: a crash loses the last minute.
 *
 * In a handover, two processes have the same data directory. The old one writes for the last time when it begins to
 * drain. Before its first write, the new one takes over what the old one wrote since. A process that finds the file of
 * another one after it wrote itself has been replaced, and writes no more.
 */
export class KeptTraffic {
  readonly #options: KeptTrafficOptions;
  readonly #writer = randomUUID();
  #timer: NodeJS.Timeout | null = null;
  #readFrom = '';
  #lastNewest = '';
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: KeptTrafficOptions) {
    this.#options = options;
  }

  /** Never keeps a server from starting: a file that cannot be read is replaced. */
  async start(): Promise<void> {
    await this.#takeOver();
    this.#timer = setInterval(() => void this.save(), SAVE_EVERY_MS).unref();
  }

  /** One at a time. */
  save(): Promise<void> {
    this.#running = this.#running.then(() => this.#save()).catch((error: unknown) => this.#options.onProblem(error));
    return this.#running;
  }

  /** For the last time: another process may serve from now on. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.save();
    this.#isStopped = true;
  }

  async #save(): Promise<void> {
    if (this.#isStopped) return;
    const writer = await this.#writerOfFile();
    if (writer !== null && writer !== this.#writer && this.#readFrom === this.#writer) {
      this.#isStopped = true;
      return;
    }
    // The process before this one may have written again since this one started.
    if (this.#readFrom !== this.#writer) await this.#takeOver();
    const { requests, series, clock } = this.#options;
    const sinceMs = clock.nowMs() - KEPT_MS;
    const kept = await requests.ownList({ sinceMs }, MAX_REQUESTS);
    const newest = String(kept[0]?.['id'] ?? '');
    // Without a request, there is nothing to write.
    if (newest === this.#lastNewest) return;
    const state = await series.ownState(sinceMs, MAX_ROUTES);
    const head = { version: VERSION, writer: this.#writer };
    await writeDurably(this.#options.path, await this.#lines([head, ...state, ...kept]), MODE);
    this.#lastNewest = newest;
    this.#readFrom = this.#writer;
  }

  /** In slices: traffic goes on. */
  async #lines(rows: readonly JsonObject[]): Promise<readonly Uint8Array[]> {
    const slice = new TimeSlice(this.#options.queue);
    const lines: Uint8Array[] = [];
    let bytes = 0;
    for (const row of rows) {
      const line = Buffer.from(`${JSON.stringify(row)}\n`);
      bytes += line.length;
      // The newest requests stand first.
      if (bytes > MAX_BYTES) break;
      lines.push(line);
      if (slice.isOver) await slice.next();
    }
    return lines;
  }

  /** Null: there is no file that this version knows. */
  async #writerOfFile(): Promise<string | null> {
    const file = await open(this.#options.path).catch(() => null);
    if (file === null) return null;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEAD), 0, MAX_HEAD, 0);
      const [line = ''] = buffer.toString('utf8', 0, bytesRead).split('\n');
      return writerIn(JSON.parse(line) as JsonValue);
    } catch {
      return null;
    } finally {
      await file.close();
    }
  }

  /** What another process wrote since: the one before this one. */
  async #takeOver(): Promise<void> {
    const rows = await this.#read();
    const [head, ...others] = rows;
    const writer = writerIn(head);
    if (writer === null || writer === this.#writer) return;
    this.#readFrom = writer;
    const { requests, series, clock, shown } = this.#options;
    const sinceMs = clock.nowMs() - KEPT_MS;
    requests.keepEarlier(
      others
        .filter(isRequest)
        .filter(({ at }) => Date.parse(at as string) >= sinceMs)
        .map(shown),
    );
    series.keepEarlier(others.filter((row) => !isRequest(row)));
  }

  async #read(): Promise<readonly JsonObject[]> {
    const { path, queue, onProblem } = this.#options;
    try {
      if ((await stat(path)).size > MAX_BYTES * 2) return [];
      const slice = new TimeSlice(queue);
      const rows: JsonObject[] = [];
      for (const line of (await readFile(path, 'utf8')).split('\n')) {
        if (line === '') continue;
        const row = JSON.parse(line) as JsonValue;
        if (isJsonObject(row)) rows.push(row);
        if (slice.isOver) await slice.next();
      }
      return rows;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') onProblem(error);
      return [];
    }
  }
}

function writerIn(head: JsonValue | undefined): string | null {
  if (!isJsonObject(head) || head['version'] !== VERSION) return null;
  const { writer } = head;
  return typeof writer === 'string' ? writer : null;
}

function isRequest(row: JsonObject): boolean {
  return typeof row['id'] === 'string';
}
