import type { ServerResponse } from 'node:http';
import { rfc3339 } from '../../lib/clock.ts';
import { closing, listen } from '../../lib/guarded-listeners.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { RequestFilter } from '../requests/request-filter.ts';

/** More than a person can read; the rest is counted. */
const MAX_REQUESTS_PER_SECOND = 100;
/** Lines leave together: a write for each was most of the cost of a live view. A person does not notice this delay. */
const GATHER_MS = 250;
const MAX_GATHERED = 65_536;
/** A reader that takes nothing for so long is gone. */
const MAX_BLOCKED_MS = 60_000;
/** How long the last chunk may take. */
const MAX_CLOSING_MS = 2_000;

export type LiveFilter = Pick<RequestFilter, 'host' | 'status' | 'user' | 'edge' | 'words'>;

export type WantedStream = Pick<LiveStream, 'owner' | 'topics' | 'filter' | 'isAllowed'>;

/**
 * One reader of GET /live. While it reads too slowly, lines are not written but counted: nothing is buffered beyond what
 * the socket holds. When it reads again, one line says how many requests it missed, and the state lines that follow are
 * current.
 */
export class LiveStream {
  /** Id of the API key, or of the session of a person. */
  readonly owner: string;
  readonly topics: ReadonlySet<string>;
  readonly filter: LiveFilter;
  readonly isFiltered: boolean;
  readonly wantsRequests: boolean;
  /** Whether the reader may still see this: its session or key may have ended. */
  readonly isAllowed: () => boolean;
  readonly #response: ServerResponse;
  readonly #onEnd: () => void;
  #isBlocked = false;
  #blockedSinceMs = 0;
  #missed = 0;
  #sent = 0;
  #gathered = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(response: ServerResponse, wanted: WantedStream, onEnd: () => void) {
    this.#response = response;
    this.#onEnd = onEnd;
    this.owner = wanted.owner;
    this.topics = wanted.topics;
    this.filter = wanted.filter;
    this.isFiltered = Object.keys(wanted.filter).length > 0;
    this.wantsRequests = wanted.topics.has('requests');
    this.isAllowed = wanted.isAllowed;
    const owner = closing(response, 'live stream');
    listen(response, 'close', owner, onEnd);
    listen(response, 'drain', owner, () => {
      this.#isBlocked = false;
    });
    response.writeHead(200, {
      'content-type': 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      // nginx would keep lines back until a buffer is full.
      'x-accel-buffering': 'no',
      // The connection ends with the view: nobody is to hold it open without one.
      connection: 'close',
    });
    response.flushHeaders();
  }

  /** Whether a request would be written now; otherwise it counts as missed. Asked first: a line takes time to make. */
  takesRequest(): boolean {
    if (!this.#isBlocked && this.#sent < MAX_REQUESTS_PER_SECOND) {
      this.#sent += 1;
      return true;
    }
    this.#missed += 1;
    return false;
  }

  /** Skipped while the reader is slow: a state line is replaced by the next one anyway. */
  write(line: string): void {
    if (this.#isBlocked || this.#response.destroyed) return;
    this.#gathered += line;
    if (this.#gathered.length > MAX_GATHERED) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS).unref();
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#gathered === '' || this.#response.destroyed || this.#response.writableEnded) return;
    this.#isBlocked = !this.#response.write(this.#gathered);
    this.#gathered = '';
    if (this.#isBlocked) this.#blockedSinceMs = performance.now();
  }

  /** Once a second. */
  tick(nowMs: number): void {
    if (this.#isBlocked && performance.now() - this.#blockedSinceMs > MAX_BLOCKED_MS) {
      this.cut();
      return;
    }
    this.#sent = 0;
    if (this.#missed === 0 || this.#isBlocked) return;
    const missed = this.#missed;
    this.#missed = 0;
    this.write(liveLine('missed', nowMs, { requests: missed }));
  }

  /** At once: `end` waits for a reader that never reads. */
  cut(): void {
    this.#forgetGathered();
    this.#response.destroy();
    this.#onEnd();
  }

  /** The reader may see nothing more. Its response is complete, so that a browser reports no error, unless it does not read. */
  revoke(): void {
    if (this.#isBlocked) {
      this.cut();
      return;
    }
    this.#forgetGathered();
    this.#onEnd();
    const response = this.#response;
    const timer = setTimeout(() => response.destroy(), MAX_CLOSING_MS).unref();
    response.end(() => clearTimeout(timer));
  }

  #forgetGathered(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#gathered = '';
  }

  end(): void {
    this.#flush();
    this.#response.end();
  }
}

/** JSON.stringify escapes line breaks, so one object is one line. */
export function liveLine(topic: string, nowMs: number, data: JsonObject): string {
  return `${JSON.stringify({ topic, at: rfc3339(nowMs), data })}\n`;
}
