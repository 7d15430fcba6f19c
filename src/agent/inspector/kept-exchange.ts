import type { HeaderList } from '../../lib/http/header-list.ts';
import type { ExchangeObserver, ObservedRequest } from '../exchange-observer.ts';
import { KeptBody } from './kept-body.ts';

export interface ExchangeKeeper {
  onGrown(exchange: KeptExchange, bytes: number): void;
  onChanged(exchange: KeptExchange): void;
}

export interface KeptExchangeParts {
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
