import type { LookupFunction } from 'node:net';
import { ignoreErrors } from '../../kit/guarded-listeners.ts';
import type { SharedPlaces } from '../../kit/net/shared-places.ts';
import { DeadlineTicker } from './deadline-ticker.ts';
import { createDial, type Dial, type Dialled, upstreamSecureContext } from './dial.ts';
import { Http1Upstream, shareUsed } from './http1-upstream.ts';
import { Http2Upstream } from './http2-upstream.ts';
import { assertSafeHeaders, assertSafeRequest, hasConnectionAuth, standingLines } from './request-headers.ts';
import type {
  Upstream,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamLimits,
  UpstreamRequest,
} from './upstream.ts';
import { failed, isUnsendable, unsendable } from './upstream-failure.ts';

export interface OpenUpstreamOptions {
  readonly host: string;
  readonly port: number;
  /** Null for plain HTTP/1.1. `ca`: PEM certificates to trust instead of the system's. */
  readonly tls: { readonly servername: string; readonly ca?: string | readonly string[] | undefined } | null;
  readonly limits: UpstreamLimits;
  /** Called with each address before connecting to it. */
  isAddressAllowed(ip: string): boolean;
  /** Whether one more connection may be opened. Absent: always. */
  readonly hasRoom?: (() => boolean) | undefined;
  /** Connections to all upstreams, which visitors share. Absent: there are enough. */
  readonly connections?: SharedPlaces | undefined;
  readonly lookup?: LookupFunction | undefined;
  /** Share one ticker among many upstreams to use a single timer. */
  readonly ticker?: DeadlineTicker | undefined;
}

/** Does not connect until the first request. */
export function openUpstream(options: OpenUpstreamOptions): Upstream {
  const { host, port, tls, limits, lookup, connections } = options;
  const ticker = options.ticker ?? new DeadlineTicker();
  const dial = createDial({
    host,
    port,
    tls: tls === null ? null : { servername: tls.servername, context: upstreamSecureContext(tls.ca) },
    connectTimeoutMs: limits.connectTimeoutMs,
    isAddressAllowed: (ip) => options.isAddressAllowed(ip),
    hasRoom: options.hasRoom,
    lookup,
  });
  return tls === null
    ? new Http1Upstream({ limits, ticker, dial, connections })
    : new NegotiatedUpstream({
        limits,
        ticker,
        dial,
        connections,
        authority: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      });
}

/** A request that waits for a connection, and then represents the exchange on it. */
class PendingExchange implements UpstreamExchange {
  readonly request: UpstreamRequest;
  readonly handler: UpstreamHandler;
  /** The request was already refused unprocessed on one connection; a second refusal is final. */
  readonly isRetry: boolean;
  /** Called once when it has stopped waiting, for any reason. */
  onSettled: (() => void) | null = null;
  cancelDial: (() => void) | null = null;
  #actual: UpstreamExchange | null = null;
  #isOver = false;

  constructor(request: UpstreamRequest, handler: UpstreamHandler, isRetry: boolean) {
    this.request = request;
    this.handler = handler;
    this.isRetry = isRetry;
    // Other listeners may already have set the source flowing: nothing may be lost before it is sent.
    if (request.body.framing !== 'none') request.body.source.pause();
  }

  /** Returns false when it has to keep waiting. */
  sendThrough(send: (pending: this) => UpstreamExchange | null): boolean {
    if (this.#isOver) return true;
    try {
      this.#actual = send(this);
    } catch (error) {
      // The caller has returned long ago: this runs in a listener of the new connection.
      if (isUnsendable(error)) this.fail(unsendable(error));
      else {
        this.#settle();
        this.handler.onBug(error);
      }
      return true;
    }
    if (this.#actual === null) return false;
    this.#settle();
    return true;
  }

  fail(failure: UpstreamFailure): void {
    if (this.#isOver) return;
    this.#settle();
    this.handler.onFailure(failure);
  }

  get heldBytes(): number {
    return this.#actual?.heldBytes ?? 0;
  }

  resume(): void {
    this.#actual?.resume();
  }

  abort(): void {
    if (this.#actual !== null) this.#actual.abort();
    else if (!this.#isOver) {
      this.cancelDial?.();
      this.#settle();
    }
  }

  #settle(): void {
    this.#isOver = true;
    this.cancelDial = null;
    this.onSettled?.();
    this.onSettled = null;
  }
}

const EITHER = { alpn: ['h2', 'http/1.1'], isStream: false } as const;

interface NegotiatedUpstreamOptions {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly dial: Dial;
  /** Connections to all upstreams, which visitors share. Absent: there are enough. */
  readonly connections?: SharedPlaces | undefined;
  /** For the HTTP/2 client: the authority of its sessions. */
  readonly authority: string;
}

/**
 * An upstream behind TLS, where each connection negotiates HTTP/2 or HTTP/1.1 by ALPN. While the last connection used
 * HTTP/2, or none has been made, requests wait for the connection in progress instead of opening one each.
 */
export class NegotiatedUpstream implements Upstream {
  readonly #http1: Http1Upstream;
  readonly #http2: Http2Upstream;
  readonly #dial: Dial;
  readonly #waiting: PendingExchange[] = [];
  #pending = 0;
  #isDialling = false;
  #lastProtocol: 'h2' | 'http/1.1' = 'h2';
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(options: NegotiatedUpstreamOptions) {
    this.#dial = options.dial;
    this.#http1 = new Http1Upstream(options);
    this.#http2 = new Http2Upstream({
      ...options,
      resend: (request, handler) => this.#connectFor(new PendingExchange(request, handler, true)),
    });
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    if (this.#drained === null) {
      // Protocol switches use HTTP/1.1, which every upstream that supports them speaks. Connection authentication too:
      // many clients share a session, so none may authenticate it as a whole.
      if (request.switchTo !== null || hasConnectionAuth(request.headers)) return this.#http1.send(request, handler);
      const atOnce = this.#http2.sendOnOpen(request, handler, false) ?? this.#http1.sendOnIdle(request, handler);
      if (atOnce !== null) return atOnce;
    }
    // Checked here, where the caller can still receive the error, not when the connection is ready.
    assertSafeRequest(request);
    assertSafeHeaders(request.headers);
    for (const list of request.standing ?? []) standingLines(list);
    return this.#connectFor(new PendingExchange(request, handler, false));
  }

  async drain(): Promise<void> {
    if (this.#drained === null) {
      this.#drained = Promise.withResolvers();
      if (this.#pending === 0) this.#drained.resolve();
    }
    // Requests that still wait for their connection are sent first.
    await this.#drained.promise;
    await Promise.all([this.#http1.drain(), this.#http2.drain()]);
  }

  stats(): { readonly idle: number; readonly active: number } {
    const one = this.#http1.stats();
    const two = this.#http2.stats();
    return { idle: one.idle + two.idle, active: one.active + two.active + this.#pending };
  }

  #connectFor(pending: PendingExchange): PendingExchange {
    this.#pending += 1;
    pending.onSettled = () => this.#settled(pending);
    if (this.#drained !== null) {
      const draining = failed('connect', 'draining', 'this upstream accepts no new requests', false);
      const refusal = setImmediate(() => pending.fail(draining));
      pending.cancelDial = () => clearImmediate(refusal);
    } else this.#dialFor(pending);
    return pending;
  }

  #dialFor(pending: PendingExchange): void {
    if (this.#lastProtocol === 'h2' && !this.#http2.keepsApart) {
      this.#waiting.push(pending);
      this.#dialForAll();
      return;
    }
    if (this.#http1.isShareUsed(pending.request)) {
      const refusal = setImmediate(() => pending.fail(shareUsed()));
      pending.cancelDial = () => clearImmediate(refusal);
      return;
    }
    pending.cancelDial = this.#dial(EITHER, (dialled, failure) => {
      pending.cancelDial = null;
      if (dialled === null) pending.fail(failure ?? unreached());
      else this.#connected(dialled, pending);
    });
  }

  #dialForAll(): void {
    if (this.#isDialling) return;
    this.#isDialling = true;
    this.#dial(EITHER, (dialled, failure) => {
      this.#isDialling = false;
      const [first, ...others] = this.#waiting.splice(0);
      if (dialled === null) {
        first?.fail(failure ?? unreached());
        for (const pending of others) pending.fail(failure ?? unreached());
        return;
      }
      this.#connected(dialled, first ?? null);
      for (const pending of others) this.#place(pending);
    });
  }

  #connected(dialled: Dialled, pending: PendingExchange | null): void {
    this.#lastProtocol = dialled.protocol;
    if (dialled.protocol === 'h2') {
      this.#http2.adopt(dialled);
      if (pending !== null) this.#place(pending);
    } else if (pending === null) ignoreErrors(dialled.socket).destroy();
    else pending.sendThrough(({ request, handler }) => this.#http1.sendOn(dialled, request, handler));
  }

  #place(pending: PendingExchange): void {
    const isPlaced = pending.sendThrough(({ request, handler, isRetry }) =>
      this.#http2.sendOnOpen(request, handler, isRetry),
    );
    if (!isPlaced) this.#dialFor(pending);
  }

  #settled(pending: PendingExchange): void {
    const at = this.#waiting.indexOf(pending);
    if (at !== -1) this.#waiting.splice(at, 1);
    this.#pending -= 1;
    if (this.#pending === 0) this.#drained?.resolve();
  }
}

function unreached(): UpstreamFailure {
  return failed('connect', 'failed', 'no connection', false);
}
