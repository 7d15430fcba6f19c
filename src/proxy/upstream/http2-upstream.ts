import { type ClientHttp2Session, type ClientHttp2Stream, connect, type Settings } from 'node:http2';
import type { Socket } from 'node:net';
import { type ListenerOwner, listen, listenOnce, reportBug } from '../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import { sendRequest } from '../../kit/http2/heads.ts';
import { SessionWindows } from '../../kit/http2/session-windows.ts';
import { destroySession, outliveStreams, SHARED_SESSION } from '../../kit/http2/sessions.ts';
import { cancelStream } from '../../kit/http2/stream-end.ts';
import { isCrowded } from '../../kit/net/waiting-bytes.ts';
import type { DeadlineTicker, Ticked } from './deadline-ticker.ts';
import type { Dialled } from './dial.ts';
import { Http2Exchange, type Http2ExchangeOwner } from './http2-exchange.ts';
import type { UpstreamExchange, UpstreamHandler, UpstreamLimits, UpstreamRequest } from './upstream.ts';
import { codeOf } from './upstream-failure.ts';

interface Http2LinkOptions {
  readonly authority: string;
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  onClosed(link: Http2Link): void;
}

/** Further concurrent requests use another session: one lost packet then delays only a part of them. */
const MAX_STREAMS = 100;
const STREAM_WINDOW_BYTES = 512 * 1024;
/** Upstreams are mostly near: their streams need less than those of agents, and a service may have many sessions. */
const WINDOWS = {
  budgetBytes: () => (isCrowded() ? 0 : 8 * 1024 * 1024),
  largestBytes: STREAM_WINDOW_BYTES,
  smallestBytes: 64 * 1024,
  crowdedBytes: 32 * 1024,
};
/** Room for every stream's whole window: slow readers must not block fast ones. */
const SESSION_WINDOW_BYTES = (MAX_STREAMS + 28) * STREAM_WINDOW_BYTES;
/**
 * With this much waiting for clients that do not read, further requests use another session: its windows are wider, and
 * an upstream that holds the rest of these responses may refuse further ones (Node does from 10 MB on).
 */
const CLOGGED_BYTES = 2 * 1024 * 1024;
/**
 * After this long without a byte while streams are open, the peer is pinged. Not more often: gRPC servers end
 * connections whose pings come closer than five minutes ("too_many_pings"). In between, TCP keep-alive detects dead
 * hosts.
 */
const PING_AFTER_MS = 305_000;
const PING_TIMEOUT_MS = 10_000;
const TCP_PROBE_AFTER_MS = 30_000;
/**
 * Upstreams treat many resets as an attack (CVE-2023-44487) and end the session with all its streams: Node and nghttp2
 * after 1,000 at once and 33 a second, Envoy after 500, Netty after 200 in 30 s. Here a reset is a client that went
 * away, and many of them may be legitimate. A session that has sent this many resets is retired. Together with its
 * remaining streams (at most MAX_STREAMS more) it stays below all of those limits. The cost is one handshake per burst.
 */
const RESET_BURST = 50;
const RESETS_PER_MS = 2 / 1000;
/** The runtime's code for errors of nghttp2. */
const UNREADABLE = 'ERR_HTTP2_ERROR';

/** One session: *open*, then *retired* (GOAWAY from either side; streams in progress finish), then *closed*. */
class Http2Link implements Ticked, ListenerOwner {
  active = 0;
  /** The upstream sent what nghttp2 cannot read, such as a header of more than 64 KB, and all streams were lost. */
  isUnreadable = false;
  tickPosition = -1;
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  readonly #options: Http2LinkOptions;
  readonly #windows: SessionWindows;
  #isRetired = false;
  #maxStreams = MAX_STREAMS;
  #bytesRead = 0;
  #heardAtMs: number;
  #pingedAtMs = 0;
  #idleSinceMs: number;
  /** A leaky bucket. */
  #resets = 0;
  #resetAtMs = 0;

  constructor(socket: Socket, options: Http2LinkOptions) {
    const { limits, ticker, authority } = options;
    this.#socket = socket;
    this.#options = options;
    ticker.add(this);
    this.#heardAtMs = ticker.nowMs;
    this.#idleSinceMs = ticker.nowMs;
    socket.setKeepAlive(true, TCP_PROBE_AFTER_MS);
    const session = connect(authority, {
      createConnection: () => socket,
      ...SHARED_SESSION,
      maxHeaderListPairs: limits.maxHeaderCount,
      settings: {
        enablePush: false,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxHeaderListSize: limits.maxHeaderBytes,
      },
    });
    outliveStreams(session, socket);
    this.#session = session;
    this.#windows = new SessionWindows(session, WINDOWS);
    listenOnce(session, 'connect', this, () => session.setLocalWindowSize(SESSION_WINDOW_BYTES));
    listen(session, 'remoteSettings', this, ({ maxConcurrentStreams }: Settings) => {
      this.#maxStreams = Math.min(MAX_STREAMS, maxConcurrentStreams ?? MAX_STREAMS);
    });
    // Each stream reports the error itself.
    listen(session, 'error', this, (error: Error) => {
      if (codeOf(error) === UNREADABLE) this.isUnreadable = true;
    });
    listenOnce(session, 'close', this, () => {
      this.#isRetired = true;
      ticker.delete(this);
      options.onClosed(this);
    });
  }

  contain(error: unknown): void {
    this.#isRetired = true;
    destroySession(this.#session, null);
    reportBug(error, { part: 'HTTP/2 upstream session' });
  }

  get isLost(): boolean {
    return this.#session.destroyed;
  }

  get hasRoom(): boolean {
    // A GOAWAY from the upstream closes the session, which lets the streams in progress finish.
    if (this.#isRetired || this.active >= this.#maxStreams || this.#windows.heldBytes >= CLOGGED_BYTES) return false;
    return !this.#session.closed && !this.#session.destroyed;
  }

  request(headers: readonly string[], options: { endStream: boolean; waitForTrailers: boolean }): ClientHttp2Stream {
    const stream = sendRequest(this.#session, headers, options);
    this.active += 1;
    this.#windows.opened();
    return stream;
  }

  /** Ends a stream of this session early, with CANCEL. */
  reset(stream: ClientHttp2Stream): void {
    cancelStream(stream);
    this.countReset();
  }

  /**
   * The upstream refuses to serve more on this session, which holds responses for clients that do not read: others need
   * another one.
   */
  onCalm(): boolean {
    if (this.#windows.heldBytes === 0) return false;
    this.#isRetired = true;
    return true;
  }

  held(bytes: number): void {
    this.#windows.held(bytes);
  }

  countReset(): void {
    const { nowMs } = this.#options.ticker;
    this.#resets = Math.max(0, this.#resets - (nowMs - this.#resetAtMs) * RESETS_PER_MS) + 1;
    this.#resetAtMs = nowMs;
    if (this.#resets >= RESET_BURST) this.retire();
  }

  /** A stream of this session has ended. */
  release(): void {
    this.active -= 1;
    this.#windows.closed();
    this.#idleSinceMs = this.#options.ticker.nowMs;
    if (this.#isRetired) this.#closeIfUnused();
  }

  /** Accepts no new streams; those in progress finish, then the session closes. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfUnused();
  }

  /** The runtime's `close` with open streams loses those that were requested before its session was ready. */
  #closeIfUnused(): void {
    if (this.active === 0 && !this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  onTick(nowMs: number): void {
    const { keepAliveMs } = this.#options.limits;
    const { bytesRead } = this.#socket;
    if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead;
      this.#heardAtMs = nowMs;
      this.#pingedAtMs = 0;
    }
    if (this.active === 0) {
      if (nowMs - this.#idleSinceMs >= keepAliveMs) this.retire();
    } else if (this.#pingedAtMs !== 0) {
      if (nowMs - this.#pingedAtMs >= PING_TIMEOUT_MS) {
        this.#isRetired = true;
        destroySession(this.#session, null, new Error('the upstream does not respond to pings'));
      }
    } else if (nowMs - this.#heardAtMs >= PING_AFTER_MS && !this.#session.destroyed) {
      this.#pingedAtMs = nowMs;
      this.#session.ping(noop);
    }
  }
}

function noop(): void {}

interface Http2UpstreamOptions {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly authority: string;
  /** Sends a request again that a session refused unprocessed (RFC 9113 §8.7). */
  resend(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange;
}

/**
 * After a response that nghttp2 cannot read, which ends a session with all its streams. One page that an upstream
 * answers in this way must not disturb the others again and again.
 */
const APART_MS = 60_000;

/** Requests as streams on shared sessions. It receives its connections and makes none itself. */
export class Http2Upstream implements Http2ExchangeOwner<Http2Link> {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly ownHeaders: HeaderList = [];
  readonly #options: Http2UpstreamOptions;
  readonly #links: Http2Link[] = [];
  #active = 0;
  #apartUntilMs = 0;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(options: Http2UpstreamOptions) {
    this.limits = options.limits;
    this.ticker = options.ticker;
    this.#options = options;
  }

  /** Each request has a session of its own: another one would be lost with it. */
  get keepsApart(): boolean {
    return this.ticker.nowMs < this.#apartUntilMs;
  }

  adopt({ socket }: Dialled): void {
    const { authority, limits, ticker } = this.#options;
    const link = new Http2Link(socket, { authority, limits, ticker, onClosed: (closed) => this.#remove(closed) });
    this.#links.push(link);
    if (this.#drained !== null) link.retire();
  }

  /** Null when no session exists or none has room. */
  sendOnOpen(request: UpstreamRequest, handler: UpstreamHandler, isRetry: boolean): UpstreamExchange | null {
    const isApart = this.keepsApart;
    const link = this.#links.find(({ hasRoom, active }) => hasRoom && (!isApart || active === 0));
    if (link === undefined) return null;
    const exchange = new Http2Exchange(this, { request, handler, isRetry });
    exchange.start(link);
    this.#active += 1;
    return exchange;
  }

  resend(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    return this.sendOnOpen(request, handler, true) ?? this.#options.resend(request, handler);
  }

  onConnectionAuth(link: Http2Link): void {
    link.retire();
  }

  onOver(): void {
    this.#active -= 1;
    if (this.#active === 0) this.#drained?.resolve();
  }

  drain(): Promise<void> {
    if (this.#drained === null) {
      this.#drained = Promise.withResolvers();
      for (const link of [...this.#links]) link.retire();
      if (this.#active === 0) this.#drained.resolve();
    }
    return this.#drained.promise;
  }

  stats(): { readonly idle: number; readonly active: number } {
    return { idle: this.#links.filter((link) => link.hasRoom && link.active === 0).length, active: this.#active };
  }

  #remove(link: Http2Link): void {
    if (link.isUnreadable) this.#apartUntilMs = this.ticker.nowMs + APART_MS;
    const at = this.#links.indexOf(link);
    if (at !== -1) this.#links.splice(at, 1);
  }
}
