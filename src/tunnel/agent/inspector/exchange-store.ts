import type { HeaderList } from '../../../kit/http/header-values.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import type { ExchangeObserver, ObservedRequest } from '../handle.ts';

const EMPTY = Buffer.alloc(0);

/**
 * The start of a body. Bytes are copied into one growing block: a chunk is a slice of a larger read buffer, and keeping
 * the slice would keep the whole buffer in memory.
 */
export class KeptBody {
  /** Size of the whole body, stored or not. */
  totalBytes = 0;
  readonly #maxBytes: number;
  #block: Buffer = EMPTY;
  #length = 0;
  #isReleased = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): Buffer {
    return this.#block.subarray(0, this.#length);
  }

  get isTruncated(): boolean {
    return this.#length < this.totalBytes;
  }

  /** Returns by how many bytes its memory has grown. */
  add(chunk: Buffer): number {
    this.totalBytes += chunk.length;
    const wanted = Math.min(chunk.length, this.#maxBytes - this.#length);
    if (this.#isReleased || wanted <= 0) return 0;
    const grown = this.#makeRoom(this.#length + wanted);
    this.#length += chunk.copy(this.#block, this.#length, 0, wanted);
    return grown;
  }

  release(): void {
    this.#isReleased = true;
    this.#block = EMPTY;
    this.#length = 0;
  }

  #makeRoom(needed: number): number {
    const before = this.#block.length;
    if (needed <= before) return 0;
    // Not from the runtime's pool, where each slice keeps the whole pool alive.
    const block = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(needed, before * 2)));
    this.#block.copy(block, 0, 0, this.#length);
    this.#block = block;
    return block.length - before;
  }
}

interface ExchangeKeeper {
  onGrown(exchange: KeptExchange, bytes: number): void;
  onChanged(exchange: KeptExchange): void;
}

interface KeptExchangeParts {
  readonly id: string;
  readonly request: ObservedRequest;
  readonly maxBodyBytes: number;
  readonly keeper: ExchangeKeeper;
  /** The exchange that this one repeats. */
  readonly replayOf: string | null;
}

/** Approximate size of an exchange's objects and fields. */
const OVERHEAD_BYTES = 1_024;

/** An exchange as observed. It is decoded, formatted and masked only when somebody views it. */
export class KeptExchange implements ExchangeObserver {
  readonly id: string;
  readonly replayOf: string | null;
  readonly request: ObservedRequest;
  readonly requestBody: KeptBody;
  readonly responseBody: KeptBody;
  readonly startedAtMs = Date.now();
  status: number | null = null;
  responseHeaders: HeaderList = [];
  /** Relative to the start, like `durationMs`. */
  firstByteMs: number | null = null;
  durationMs: number | null = null;
  problem: string | null = null;
  keptBytes: number;
  /** The exchange was dropped and keeps nothing. */
  isReleased = false;
  readonly #keeper: ExchangeKeeper;
  readonly #startMs = performance.now();

  constructor({ id, request, maxBodyBytes, keeper, replayOf }: KeptExchangeParts) {
    this.id = id;
    this.replayOf = replayOf;
    const { tunnel, ...rest } = request;
    // Only the tunnel's identity: the agent's own object lives longer and holds more.
    this.request = { ...rest, tunnel: { ref: tunnel.ref, name: tunnel.name } };
    this.requestBody = new KeptBody(maxBodyBytes);
    this.responseBody = new KeptBody(maxBodyBytes);
    this.keptBytes = OVERHEAD_BYTES + request.target.length + lengthOf(request.headers);
    this.#keeper = keeper;
  }

  /** The gateway carries WebSockets as extended CONNECT (RFC 8441). No other CONNECT reaches this point. */
  get isWebSocket(): boolean {
    return this.request.method === 'CONNECT';
  }

  get method(): string {
    return this.isWebSocket ? 'GET' : this.request.method;
  }

  get isOver(): boolean {
    return this.durationMs !== null;
  }

  onRequestData(chunk: Buffer): void {
    this.#grow(this.requestBody.add(chunk));
  }

  onResponseHead(status: number, headers: HeaderList): void {
    this.status = status;
    this.firstByteMs = performance.now() - this.#startMs;
    if (this.isReleased) return;
    this.responseHeaders = headers;
    this.#grow(lengthOf(headers));
    this.#keeper.onChanged(this);
  }

  onResponseData(chunk: Buffer): void {
    this.#grow(this.responseBody.add(chunk));
  }

  onEnd(problem: string | null): void {
    this.durationMs = performance.now() - this.#startMs;
    this.problem = problem;
    if (!this.isReleased) this.#keeper.onChanged(this);
  }

  release(): void {
    this.isReleased = true;
    this.requestBody.release();
    this.responseBody.release();
  }

  #grow(bytes: number): void {
    if (bytes === 0 || this.isReleased) return;
    this.keptBytes += bytes;
    this.#keeper.onGrown(this, bytes);
  }
}

function lengthOf(headers: HeaderList): number {
  let bytes = 0;
  for (const text of headers) bytes += text.length;
  return bytes;
}

interface StoreLimits {
  readonly maxRequests: number;
  /** Per direction. */
  readonly maxBodyBytes: number;
  /** For all exchanges together. */
  readonly maxTotalBytes: number;
}

interface StoreListener {
  /** The exchange started, received its response head, or ended. */
  onExchange(exchange: KeptExchange): void;
  onCleared(): void;
}

/** The most recent exchanges. The oldest is dropped when there are too many or they use too much memory. */
export class ExchangeStore implements ExchangeKeeper {
  readonly limits: StoreLimits;
  keptBytes = 0;
  /** Number of exchanges dropped to make room. */
  dropped = 0;
  readonly #exchanges = new Map<string, KeptExchange>();
  readonly #listeners = new Set<StoreListener>();
  readonly #nextId = createKsuidSource();

  constructor(limits: StoreLimits) {
    this.limits = limits;
  }

  get size(): number {
    return this.#exchanges.size;
  }

  begin(request: ObservedRequest, replayOf: string | null): KeptExchange {
    const id = `req_${this.#nextId(Date.now())}`;
    const { maxBodyBytes } = this.limits;
    const exchange = new KeptExchange({ id, request, replayOf, maxBodyBytes, keeper: this });
    this.#exchanges.set(id, exchange);
    this.keptBytes += exchange.keptBytes;
    this.#makeRoom();
    if (!exchange.isReleased) this.onChanged(exchange);
    return exchange;
  }

  get(id: string): KeptExchange | null {
    return this.#exchanges.get(id) ?? null;
  }

  newestFirst(): readonly KeptExchange[] {
    return [...this.#exchanges.values()].reverse();
  }

  clear(): void {
    for (const exchange of this.#exchanges.values()) exchange.release();
    this.#exchanges.clear();
    this.keptBytes = 0;
    for (const listener of this.#listeners) listener.onCleared();
  }

  listen(listener: StoreListener): void {
    this.#listeners.add(listener);
  }

  unlisten(listener: StoreListener): void {
    this.#listeners.delete(listener);
  }

  onGrown(_exchange: KeptExchange, bytes: number): void {
    this.keptBytes += bytes;
    this.#makeRoom();
  }

  onChanged(exchange: KeptExchange): void {
    for (const listener of this.#listeners) listener.onExchange(exchange);
  }

  #makeRoom(): void {
    const { maxRequests, maxTotalBytes } = this.limits;
    for (const [id, exchange] of this.#exchanges) {
      if (this.#exchanges.size <= maxRequests && this.keptBytes <= maxTotalBytes) return;
      this.#exchanges.delete(id);
      this.keptBytes -= exchange.keptBytes;
      this.dropped += 1;
      exchange.release();
    }
  }
}
