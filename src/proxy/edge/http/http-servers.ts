import {
  createServer as createHttp2Server,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { until } from '../../../kit/async/waiting.ts';
import {
  closing,
  guarded,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenOnce,
  listenPer,
  reporting,
} from '../../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { MAX_HEADER_LIST_SIZE, MAX_SEND_BLOCK_BYTES } from '../../../kit/http2/heads.ts';
import { INITIAL_WINDOW_BYTES } from '../../../kit/http2/session-windows.ts';
import { outliveStreams, REPEATED_FIELDS, UNLIMITED_SESSION_MEMORY } from '../../../kit/http2/sessions.ts';
import { hasStreamEnd, watchStreamEnd } from '../../../kit/http2/stream-end.ts';
import { type ConnectionFacts, sharingAddress } from '../connections/connection-facts.ts';
import { Http1Client, type Http1Service } from './http1-client.ts';
import { Http2Client } from './http2-client.ts';
import { Http2ResponseWriter } from './http2-response-writer.ts';
import { type IncomingRequest, TOO_SLOW } from './incoming-request.ts';
import {
  http2Head,
  isHeadTooLarge,
  MAX_FIELDS,
  HEAD_TOO_LARGE as TOO_LARGE,
  trailersOf,
  withStreamedBody,
} from './raw-head.ts';
import { type HeadReading, type HeadRules, readHead } from './request-head.ts';
import { SmallPieces } from './small-pieces.ts';
import type { HeldResponse } from './stalled-responses.ts';
import { type HttpLimits, sweep } from './sweep.ts';
import { TurnBudget } from './turn-budget.ts';
import { UnreadUploads, type UnsentResponse } from './unread-bodies.ts';

interface EmptyEndOptions {
  readonly owner: ListenerOwner;
  /** The end belongs to the head, so it has as long as a head. */
  readonly timeoutMs: number;
  readonly onEnd: () => void;
  readonly onLate: () => void;
}

/**
 * Waits until a request that announces an empty body has really ended. Its head alone would be a complete request for
 * an upstream, but data or a reset may follow: the runtime then ends the stream, and nothing is called.
 */
function awaitEmptyEnd(stream: ServerHttp2Stream, { owner, timeoutMs, onEnd, onLate }: EmptyEndOptions): void {
  let isLate = false;
  const onTimeout = guarded(owner, () => {
    isLate = true;
    if (!stream.destroyed) onLate();
  });
  const timer = setTimeout(onTimeout, timeoutMs).unref();
  watchStreamEnd(stream);
  ignoreErrors(stream);
  listenOnce(stream, 'end', owner, () => {
    clearTimeout(timer);
    if (!isLate && hasStreamEnd(stream) && !stream.destroyed) onEnd();
  });
  listenOnce(stream, 'close', owner, () => clearTimeout(timer));
  stream.resume();
}

/**
 * Resets allowed in a burst, and per second in the long run, before the connection is closed (CVE-2023-44487). The
 * runtime's defaults, kept deliberately: browsing a gallery resets hundreds of images within seconds.
 */
const STREAM_RESET_BURST = 1000;
const STREAM_RESETS_PER_SECOND = 33;
/** For pseudo header fields, and for a few more than allowed. */
const SPARE_FIELDS = 64;

/** Options of visitors' sessions. */
function http2ServerOptions({ maxHeaderBytes, maxHeaderCount, maxConcurrentStreams }: HttpLimits): ServerOptions {
  return {
    ...UNLIMITED_SESSION_MEMORY,
    ...REPEATED_FIELDS,
    maxSendHeaderBlockLength: MAX_SEND_BLOCK_BYTES,
    // More than allowed, here and in the settings: the runtime resets what exceeds it, without a response.
    maxHeaderListPairs: Math.max(maxHeaderCount, MAX_FIELDS) + SPARE_FIELDS,
    streamResetBurst: STREAM_RESET_BURST,
    streamResetRate: STREAM_RESETS_PER_SECOND,
    settings: {
      maxConcurrentStreams,
      maxHeaderListSize: Math.max(2 * maxHeaderBytes, MAX_HEADER_LIST_SIZE),
      enableConnectProtocol: true,
      initialWindowSize: INITIAL_WINDOW_BYTES,
    },
  };
}

interface HttpServersOptions {
  /** The scheme that clients use. */
  readonly scheme: 'http' | 'https';
  readonly limits: HttpLimits;
  readonly rules: HeadRules;
  handle(connection: ConnectionFacts, request: IncomingRequest): void;
  /** An HTTP/2 connection was closed because of the client's frames. `reason` is the runtime's code. */
  onSessionError(reason: string, error: Error): void;
}

const NO_TRAILERS = (): HeaderList => [];
const YES = (): boolean => true;
/** The request line has more of them: method, version, spaces and line break. */
const UNCOUNTED_BYTES_PER_LINE = 32;

/** HTTP/1.1 and HTTP/2 on sockets whose handshake is complete. Neither server listens itself. */
export class HttpServers {
  readonly #http1: Http1Service;
  readonly #http2: Http2Server;
  readonly #handle: HttpServersOptions['handle'];
  readonly #limits: HttpLimits;
  readonly #rules: HeadRules;
  readonly #sweep: NodeJS.Timeout;
  readonly #sockets = new Map<Duplex, Http1Client | Http2Client>();
  readonly #sessions = new WeakMap<object, Http2Client>();
  #arriving: ServerHttp2Session | null = null;
  readonly #turns = new TurnBudget();
  readonly #shares = { uploads: new UnreadUploads(), smallPieces: new SmallPieces() };
  readonly #drain = { isDraining: false };
  /** While draining, a connection may send one more request. */
  #isLingering = false;

  constructor(options: HttpServersOptions) {
    const { limits } = options;
    this.#rules = options.rules;
    this.#limits = limits;
    this.#handle = (connection, request) => options.handle(connection, request);
    const { keepAliveTimeoutMs: idleTimeoutMs, headersTimeoutMs, sendTimeoutMs, requestTimeoutMs } = limits;
    this.#sweep = sweep(() => this.#sockets.values(), {
      idleTimeoutMs,
      headersTimeoutMs,
      sendTimeoutMs,
      requestTimeoutMs,
    });
    this.#http1 = {
      scheme: options.scheme,
      limits,
      rules: options.rules,
      drain: this.#drain,
      turns: this.#turns,
      smallPieces: this.#shares.smallPieces,
      keepAlive: `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(idleTimeoutMs / 1000)}\r\n`,
      maxHeadBytes: limits.maxHeaderBytes + UNCOUNTED_BYTES_PER_LINE * (limits.maxHeaderCount + 1),
      handle: this.#handle,
    };
    this.#http2 = createHttp2Server(http2ServerOptions(limits));
    listen(this.#http2, 'session', reporting('HTTP/2 server'), (session: ServerHttp2Session) => {
      this.#arriving = session;
    });
    listenPer(
      this.#http2,
      'stream',
      (stream: ServerHttp2Stream) => this.#ownerOfStream(stream),
      (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: readonly string[]) =>
        this.#onStream(stream, headers, raw),
    );
    listen(this.#http2, 'sessionError', reporting('HTTP/2 server'), (error: Error & { readonly code?: string }) => {
      // Other errors report a broken connection, which is the client's right.
      if (error.code?.startsWith('ERR_HTTP2_') === true) options.onSessionError(error.code, error);
    });
  }

  accept(socket: Socket, protocol: 'h2' | 'http/1.1', facts: Omit<ConnectionFacts, 'retire'>): void {
    listenOnce(socket, 'close', reporting('HTTP server'), () => {
      this.#sockets.get(socket)?.onClosed();
      this.#sockets.delete(socket);
    });
    if (protocol === 'http/1.1') {
      const client = new Http1Client(socket, facts, this.#http1);
      this.#sockets.set(socket, client);
      client.open();
      return;
    }
    // The session's event fires before `emit` returns: this links the session to its socket.
    this.#http2.emit('connection', socket);
    const session = this.#arriving;
    this.#arriving = null;
    if (session === null) socket.destroy();
    else this.#onSession(new Http2Client(session, socket, facts, this.#shares), socket);
  }

  /**
   * Sends GOAWAY on HTTP/2 and `Connection: close` on HTTP/1.1; requests in progress finish. With `lingers`, a
   * connection gets this with its next response, so that no request is on its way to a closed connection. Call it again
   * without, to close those that sent none.
   */
  startDraining(lingers = false): void {
    this.#drain.isDraining = true;
    this.#isLingering = lingers;
    for (const client of this.#sockets.values()) {
      if (client instanceof Http1Client) {
        if (!lingers) client.endIfIdle();
      } else if (!lingers || client.hasRequests) client.session.close();
    }
  }

  /** Closes each connection when its last bytes are sent; the rest is cut at the deadline. No request may be left. */
  async close(timeoutMs: number): Promise<void> {
    // An HTTP/2 session closes by itself after its last stream.
    for (const client of this.#sockets.values()) if (client instanceof Http1Client) client.endSoon();
    await until(() => this.#sockets.size === 0, timeoutMs);
    for (const socket of this.#sockets.keys()) socket.destroy();
    clearInterval(this.#sweep);
  }

  *unsentResponses(): Iterable<UnsentResponse & HeldResponse> {
    for (const client of this.#sockets.values()) {
      if (client instanceof Http1Client) yield client;
      else yield* client.responses;
    }
  }

  /** Too many requests are waiting for a turn, or too many of the visitor with this connection. */
  isFullFor(connection: Pick<ConnectionFacts, 'remoteAddress' | 'isFromProxy'>): boolean {
    return this.#turns.isFullFor(sharingAddress(connection));
  }

  get connectionCount(): number {
    return this.#sockets.size;
  }

  #ownerOfStream(stream: ServerHttp2Stream): ListenerOwner {
    const client = stream.session === undefined ? undefined : this.#sessions.get(stream.session);
    return client ?? closing(stream, 'HTTP/2 server');
  }

  #onSession(client: Http2Client, socket: Socket): void {
    const { session } = client;
    this.#sockets.set(socket, client);
    this.#sessions.set(session, client);
    outliveStreams(session, socket);
    ignoreErrors(session);
    if (this.#drain.isDraining && !this.#isLingering) session.close();
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const tooLarge = isHeadTooLarge(raw, this.#limits) ? TOO_LARGE : null;
    const isWhole = stream.endAfterHeaders;
    const client = stream.session === undefined ? undefined : this.#sessions.get(stream.session);
    const address = client === undefined ? undefined : sharingAddress(client.facts);
    // A request with a body is never deferred: its trailers and its end must find their listeners.
    if (isWhole && this.#turns.take(address)) {
      this.#serveStream(stream, headers, raw, tooLarge);
      return;
    }
    const serveAtOnce = (): void => this.#serveStream(stream, headers, raw, tooLarge);
    const isEmpty = !isWhole && headers['content-length'] === '0' && headers[':protocol'] === undefined;
    if (isEmpty && tooLarge === null) {
      awaitEmptyEnd(stream, {
        owner: this.#ownerOfStream(stream),
        timeoutMs: this.#limits.headersTimeoutMs,
        onEnd: serveAtOnce,
        onLate: () => this.#serveStream(stream, headers, raw, { ok: false, ...TOO_SLOW }),
      });
      return;
    }
    if (!isWhole) {
      serveAtOnce();
      return;
    }
    ignoreErrors(stream);
    const serve = (): void => {
      if (!stream.destroyed) serveAtOnce();
    };
    this.#turns.later(guarded(this.#ownerOfStream(stream), serve), address);
  }

  #serveStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    refusal: HeadReading | null,
  ): void {
    const client = stream.session === undefined ? undefined : this.#sessions.get(stream.session);
    if (client === undefined) {
      stream.close();
      return;
    }
    if (this.#isLingering) client.closeSoon();
    const reading = refusal ?? readHead(http2Head(raw, client.facts.isFromProxy), this.#rules);
    const isWhole = stream.endAfterHeaders;
    const hasBody = !isWhole && headers[':protocol'] === undefined;
    if (!isWhole) watchStreamEnd(stream);
    const writer = new Http2ResponseWriter(stream, String(headers[':method']), client);
    if (hasBody) writer.expectBody(reading.ok ? reading.head.contentLength : 0);
    this.#handle(client.facts, {
      reading: withStreamedBody(reading, hasBody),
      writer,
      source: hasBody ? stream : null,
      trailers: hasBody ? trailersOf(stream, writer, this.#rules.dropped, this.#limits) : NO_TRAILERS,
      isBodyWhole: hasBody ? () => hasStreamEnd(stream) : YES,
      accept: headers.accept,
    });
  }
}
