import { type ClientHttp2Session, type ClientHttp2Stream, connect, type Settings } from 'node:http2';
import type { Socket } from 'node:net';
import { reportBug } from '../lib/bug-report.ts';
import { ignoreErrors, type ListenerOwner, listen, listenOnce } from '../lib/guarded-listeners.ts';
import { outliveStreams } from '../lib/http2-outlive-streams.ts';
import { cancelStream } from '../lib/http2-reset.ts';
import { REPEATED_FIELDS } from '../lib/repeated-fields.ts';
import type { DeadlineTicker, Ticked } from './deadline-ticker.ts';
import type { UpstreamLimits } from './upstream.ts';

export interface Http2LinkOptions {
  readonly authority: string;
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  onClosed(link: Http2Link): void;
}

/** More requests at a time go to another session: one lost packet then holds up a part of them only. */
const MAX_STREAMS = 100;
const STREAM_WINDOW_BYTES = 512 * 1024;
/** Room for every stream's whole window: clients that read slowly must not hold up those that do not. */
const SESSION_WINDOW_BYTES = (MAX_STREAMS + 28) * STREAM_WINDOW_BYTES;
const MAX_SESSION_MEMORY_MB = 128;
/**
 * After so long without a byte while streams are open, the peer is asked whether it is still there. Not more often: gRPC servers
 * end connections whose pings come closer than five minutes ("too_many_pings"). In between, TCP's own probes notice dead hosts.
 */
const PING_AFTER_MS = 305_000;
const PING_TIMEOUT_MS = 10_000;
const TCP_PROBE_AFTER_MS = 30_000;
/**
 * Upstreams take many resets for an attack (CVE-2023-44487) and end the session with all that is on it: Node and nghttp2 after
 * 1,000 at once and 33 a second, Envoy after 500, Netty after 200 in 30 s. Here a reset is a client that went away, and there
 * may be many honest ones. So a session that has sent this many is retired, and together with what is still on it (at most
 * MAX_STREAMS more) stays below all of those. It costs a handshake for every so many resets.
 */
const RESET_BURST = 50;
const RESETS_PER_MS = 2 / 1000;

/** One session: *open*, then *retired* (GOAWAY either way; streams under way finish), then *closed*. */
export class Http2Link implements Ticked, ListenerOwner {
  active = 0;
  tickPosition = -1;
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  readonly #options: Http2LinkOptions;
  #isRetired = false;
  #maxStreams = MAX_STREAMS;
  #bytesRead = 0;
  #heardAtMs: number;
  #pingedAtMs = 0;
  #idleSinceMs: number;
  /** A bucket that leaks. */
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
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
      ...REPEATED_FIELDS,
      maxHeaderListPairs: limits.maxHeaderCount,
      settings: {
        enablePush: false,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxHeaderListSize: limits.maxHeaderBytes,
      },
    });
    outliveStreams(session, socket);
    this.#session = session;
    listenOnce(session, 'connect', this, () => session.setLocalWindowSize(SESSION_WINDOW_BYTES));
    listen(session, 'remoteSettings', this, ({ maxConcurrentStreams }: Settings) => {
      this.#maxStreams = Math.min(MAX_STREAMS, maxConcurrentStreams ?? MAX_STREAMS);
    });
    // Each stream hears of it on its own.
    ignoreErrors(session);
    listenOnce(session, 'close', this, () => {
      this.#isRetired = true;
      ticker.delete(this);
      options.onClosed(this);
    });
  }

  contain(error: unknown): void {
    this.#session.destroy();
    reportBug(error, { part: 'HTTP/2 upstream session' });
  }

  get hasRoom(): boolean {
    // A GOAWAY of the upstream closes the session, which lets the streams under way finish.
    return !this.#isRetired && this.active < this.#maxStreams && !this.#session.closed && !this.#session.destroyed;
  }

  request(headers: readonly string[], options: { endStream: boolean; waitForTrailers: boolean }): ClientHttp2Stream {
    const stream = this.#session.request(headers, options);
    this.active += 1;
    return stream;
  }

  /** Ends a stream of this session early, with CANCEL. */
  reset(stream: ClientHttp2Stream): void {
    cancelStream(stream);
    const { nowMs } = this.#options.ticker;
    this.#resets = Math.max(0, this.#resets - (nowMs - this.#resetAtMs) * RESETS_PER_MS) + 1;
    this.#resetAtMs = nowMs;
    if (this.#resets >= RESET_BURST) this.retire();
  }

  /** A stream of this session is over. */
  release(): void {
    this.active -= 1;
    this.#idleSinceMs = this.#options.ticker.nowMs;
    if (this.#isRetired) this.#closeIfUnused();
  }

  /** No new streams; those under way finish, then it closes. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfUnused();
  }

  /** The runtime's own `close` with streams open loses those that were asked for before its session was ready. */
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
      if (nowMs - this.#pingedAtMs >= PING_TIMEOUT_MS)
        this.#session.destroy(new Error('the upstream does not answer pings'));
    } else if (nowMs - this.#heardAtMs >= PING_AFTER_MS && !this.#session.destroyed) {
      this.#pingedAtMs = nowMs;
      this.#session.ping(noop);
    }
  }
}

function noop(): void {}
