import type { ServerResponse } from 'node:http';
import { type Clock, rfc3339 } from '../../../kit/clock.ts';
import { closing, listen } from '../../../kit/guarded-listeners.ts';
import type { JsonObject } from '../../../kit/json.ts';
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

type LiveFilter = Pick<RequestFilter, 'host' | 'status' | 'user' | 'edge' | 'words'>;

type WantedStream = Pick<LiveStream, 'owner' | 'topics' | 'filter' | 'isAllowed'>;

/**
 * One reader of GET /live. While it reads too slowly, lines are not written but counted: nothing is buffered beyond
 * what the socket holds. When it reads again, one line says how many requests it missed, and the state lines that
 * follow are current.
 */
class LiveStream {
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

  /**
   * The reader may see nothing more. Its response is complete, so that a browser reports no error, unless it does not
   * read.
   */
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
function liveLine(topic: string, nowMs: number, data: JsonObject): string {
  return `${JSON.stringify({ topic, at: rfc3339(nowMs), data })}\n`;
}

const TICK_MS = 1000;
/** What all nodes are asked for. */
const GATHERED = ['overview', 'tunnel_traffic'] as const;
const GATHER_EVERY = 2;
const PING_EVERY = 15;
/** Every second, so that a page notices soon that the server is gone. */
const PULSE = 'pulse';
const MAX_STREAMS = 100;
/** One key or person cannot take all places. Colleagues may share a key, each with several pages. */
const MAX_STREAMS_OF_OWNER = 20;

export interface LiveSources {
  readonly clock: Clock;
  /** Called with every finished request of this node, as long as somebody watches. */
  followRequests(onRequest: (request: LiveRequest) => void): () => void;
  /** Requests that the other nodes have finished since the last call; all of them, whatever they were. */
  othersRequests(): Promise<readonly LiveRequest[]>;
  overview(): Promise<JsonObject>;
  /** Latency of agents and traffic of tunnels. */
  tunnel_traffic(): Promise<JsonObject>;
  /** Agents and tunnels online; sent when it changes. */
  tunnels(): JsonObject;
  onProblem(error: unknown): void;
}

/**
 * A finished request: whether a filter matches it, and its document, which is made only if somebody wants it. It is
 * valid during the call: another request may follow in the same object.
 */
interface LiveRequest {
  matches(filter: LiveFilter): boolean;
  document(): JsonObject;
}

/** Everybody who watches this node. Nothing runs while nobody does. */
export class LiveStreams {
  readonly #sources: LiveSources;
  readonly #streams = new Set<LiveStream>();
  #timer: NodeJS.Timeout | null = null;
  #unfollow: (() => void) | null = null;
  #ticks = 0;
  #isAsking = false;
  #lastTunnels = '';
  #isClosed = false;

  constructor(sources: LiveSources) {
    this.#sources = sources;
  }

  get isFull(): boolean {
    return this.#isClosed || this.#streams.size >= MAX_STREAMS;
  }

  isFullFor(owner: string): boolean {
    let own = 0;
    for (const stream of this.#streams) if (stream.owner === owner) own += 1;
    return own >= MAX_STREAMS_OF_OWNER;
  }

  open(response: ServerResponse, wanted: WantedStream): void {
    const stream = new LiveStream(response, wanted, () => this.#remove(stream));
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
    if (wanted.topics.has('requests')) this.#unfollow ??= this.#sources.followRequests((each) => this.#offer(each));
    this.#begin(stream);
  }

  /** For a server that stops: they would keep it waiting. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.end();
  }

  /** The current state at once: a page must not stay empty until something changes. */
  #begin(stream: LiveStream): void {
    const nowMs = this.#sources.clock.nowMs();
    stream.write(liveLine('ping', nowMs, {}));
    if (stream.topics.has('tunnels')) stream.write(liveLine('tunnels', nowMs, this.#sources.tunnels()));
    for (const topic of GATHERED) if (stream.topics.has(topic)) this.#sendGathered(topic, [stream]);
  }

  #remove(stream: LiveStream): void {
    this.#streams.delete(stream);
    if (!this.#watching('requests')) {
      this.#unfollow?.();
      this.#unfollow = null;
    }
    if (this.#streams.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #watching(topic: string): boolean {
    for (const { topics } of this.#streams) if (topics.has(topic)) return true;
    return false;
  }

  #with(topic: string): readonly LiveStream[] {
    return [...this.#streams].filter(({ topics }) => topics.has(topic));
  }

  /** The line is made once for all who want it. */
  #offer(request: LiveRequest): void {
    let line: string | null = null;
    for (const stream of this.#streams) {
      if (!stream.wantsRequests || (stream.isFiltered && !request.matches(stream.filter))) continue;
      if (!stream.takesRequest()) continue;
      line ??= liveLine('requests', this.#sources.clock.nowMs(), request.document());
      stream.write(line);
    }
  }

  #tick(): void {
    const nowMs = this.#sources.clock.nowMs();
    this.#ticks += 1;
    for (const stream of this.#streams) {
      if (stream.isAllowed()) stream.tick(nowMs);
      else stream.revoke();
    }
    if (this.#ticks % PING_EVERY === 0) this.#send([...this.#streams], liveLine('ping', nowMs, {}));
    this.#send(this.#with(PULSE), liveLine(PULSE, nowMs, {}));
    this.#sendTunnels(nowMs);
    if (this.#ticks % GATHER_EVERY === 0) for (const topic of GATHERED) this.#sendGathered(topic, this.#with(topic));
    this.#askOthers();
  }

  #send(streams: readonly LiveStream[], line: string): void {
    for (const stream of streams) stream.write(line);
  }

  #sendTunnels(nowMs: number): void {
    const streams = this.#with('tunnels');
    if (streams.length === 0) return;
    const data = this.#sources.tunnels();
    const text = JSON.stringify(data);
    if (text === this.#lastTunnels) return;
    this.#lastTunnels = text;
    this.#send(streams, liveLine('tunnels', nowMs, data));
  }

  #sendGathered(topic: (typeof GATHERED)[number], streams: readonly LiveStream[]): void {
    if (streams.length === 0) return;
    this.#sources[topic]()
      .then((data) => this.#send(streams, liveLine(topic, this.#sources.clock.nowMs(), data)))
      .catch((error: unknown) => this.#sources.onProblem(error));
  }

  /** One question at a time: a node that does not answer takes two seconds. */
  #askOthers(): void {
    if (this.#isAsking || !this.#watching('requests')) return;
    this.#isAsking = true;
    this.#sources
      .othersRequests()
      .then((requests) => {
        for (const request of requests) this.#offer(request);
      })
      .catch((error: unknown) => this.#sources.onProblem(error))
      .finally(() => {
        this.#isAsking = false;
      });
  }
}
