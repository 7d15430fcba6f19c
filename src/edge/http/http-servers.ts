import type { Server as Http1Server, IncomingMessage, ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { until } from '../../lib/async/until.ts';
import {
  closing,
  guarded,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenOnce,
  listenPer,
  reporting,
} from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import { createServer as createHttp1Server } from '../../lib/http/node-http.ts';
import { outliveStreams } from '../../lib/http2/outlive-streams.ts';
import { hasStreamEnd, watchStreamEnd } from '../../lib/http2/stream-end.ts';
import type { ConnectionFacts } from '../connection-facts.ts';
import { awaitEmptyEnd } from './await-empty-end.ts';
import type { HttpLimits } from './http-limits.ts';
import { Http1Client } from './http1-client.ts';
import { Http1Facts } from './http1-facts.ts';
import { Http1SwitchWriter } from './http1-switch-writer.ts';
import { Http2Client } from './http2-client.ts';
import { isTooLarge } from './http2-head-size.ts';
import { Http2ResponseWriter } from './http2-response-writer.ts';
import { http2ServerOptions } from './http2-server-options.ts';
import type { IncomingRequest } from './incoming-request.ts';
import { http1Head, http2Head, TOO_LARGE, versionProblem, withStreamedBody } from './raw-head.ts';
import { type HeadReading, type HeadRules, readHead } from './request-head.ts';
import { type RequestProblem, TOO_SLOW } from './request-problem.ts';
import { sweep } from './sweep.ts';
import { trailersOf } from './trailers.ts';
import { TurnBudget } from './turn-budget.ts';
import { UnreadUploads } from './unread-uploads.ts';

export interface HttpServersOptions {
  /** The scheme that clients use. */
  readonly scheme: 'http' | 'https';
  readonly limits: HttpLimits;
  readonly rules: HeadRules;
  handle(connection: ConnectionFacts, request: IncomingRequest): void;
  /** An HTTP/2 connection was closed because of the client's frames. `reason` is the runtime's code. */
  onSessionError(reason: string, error: Error): void;
}

/** Interval of the check for slow heads; the runtime's default of 30 s would become the effective timeout. */
const CHECK_INTERVAL_MS = 1000;
const NO_TRAILERS = (): HeaderList => [];
const YES = (): boolean => true;
const NOTHING = Buffer.alloc(0);

/** HTTP/1.1 and HTTP/2 on sockets whose handshake is complete. Neither server listens itself. */
export class HttpServers {
  readonly #http1: Http1Server;
  readonly #http2: Http2Server;
  readonly #handle: HttpServersOptions['handle'];
  readonly #scheme: HttpServersOptions['scheme'];
  readonly #limits: HttpLimits;
  readonly #rules: HeadRules;
  readonly #sweep: NodeJS.Timeout;
  /** Requests to switch to a protocol that the edge does not support. */
  readonly #declined = new WeakSet<IncomingMessage>();
  readonly #sockets = new Map<Duplex, Http1Client | Http2Client>();
  readonly #sessions = new WeakMap<object, Http2Client>();
  #arriving: ServerHttp2Session | null = null;
  readonly #turns = new TurnBudget();
  readonly #waiting = { count: { waiting: 0 }, schedule: (task: () => void) => this.#turns.run(task) };
  readonly #uploads = new UnreadUploads();
  readonly #drain = { isDraining: false };
  /** While draining, a connection may send one more request. */
  #isLingering = false;

  constructor(options: HttpServersOptions) {
    const { limits } = options;
    this.#scheme = options.scheme;
    this.#rules = options.rules;
    this.#handle = (connection, request) => options.handle(connection, request);
    const { keepAliveTimeoutMs: idleTimeoutMs, sendTimeoutMs, requestTimeoutMs } = limits;
    this.#sweep = sweep(() => this.#sockets.values(), { idleTimeoutMs, sendTimeoutMs, requestTimeoutMs });
    this.#http1 = createHttp1Server({
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      // The edge rejects it, like every other request without a host.
      requireHostHeader: false,
      shouldUpgradeCallback: (request: IncomingMessage) => this.#switches(request),
    });
    // The runtime silently drops headers beyond its limit: one more than allowed shows that there were too many.
    this.#http1.maxHeadersCount = limits.maxHeaderCount + 1;
    this.#limits = limits;
    // This event starts the timeouts of slow heads and the list of idle connections, and this server never listens.
    this.#http1.emit('listening');
    // The upstream responds to the last two, or the edge does before it requests their body.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      listenPer(this.#http1, event, this.#ownerOf, (request: IncomingMessage, response: ServerResponse) =>
        this.#onHttp1(request, response),
      );
    for (const event of ['upgrade', 'connect'])
      listenPer(this.#http1, event, this.#ownerOf, (request: IncomingMessage, socket: Duplex, firstBytes: Buffer) =>
        this.#onUpgrade(request, socket, firstBytes),
      );
    const ownerOfSocket = (_error: Error, socket: Duplex): ListenerOwner => this.#ownerOf({ socket });
    listenPer(this.#http1, 'clientError', ownerOfSocket, (error: Error, socket: Duplex) => {
      const client = this.#sockets.get(socket);
      if (client instanceof Http1Client)
        client.onError(error, (problem) => this.#refuseUnread(client, socket, problem));
    });
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
    listenOnce(socket, 'close', reporting('HTTP server'), () => this.#sockets.delete(socket));
    if (protocol === 'http/1.1') {
      this.#sockets.set(socket, new Http1Client(socket, facts, this.#waiting));
      this.#http1.emit('connection', socket);
      return;
    }
    // The session's event fires before `emit` returns: this links the session to its socket.
    this.#http2.emit('connection', socket);
    const session = this.#arriving;
    this.#arriving = null;
    if (session === null) socket.destroy();
    else this.#onSession(new Http2Client(session, socket, facts, this.#uploads), socket);
  }

  /**
   * Sends GOAWAY on HTTP/2 and `Connection: close` on HTTP/1.1; requests in progress finish. With `lingers`, a connection
   * gets this with its next response, so that no request is on its way to a closed connection. Call it again without, to
   * close those that sent none.
   */
  startDraining(lingers = false): void {
    this.#drain.isDraining = true;
    this.#isLingering = lingers;
    for (const client of this.#sockets.values()) {
      if (client instanceof Http2Client && (!lingers || client.hasRequests)) client.session.close();
    }
    if (!lingers) this.#http1.closeIdleConnections();
  }

  /** Closes each connection when its last bytes are sent; the rest is cut at the deadline. No request may be left. */
  async close(timeoutMs: number): Promise<void> {
    // An HTTP/2 session closes by itself after its last stream.
    for (const client of this.#sockets.values()) if (client instanceof Http1Client) client.endSoon();
    await until(() => this.#sockets.size === 0, timeoutMs);
    for (const socket of this.#sockets.keys()) socket.destroy();
    clearInterval(this.#sweep);
    this.#http1.close();
  }

  /** Too many requests are waiting for a turn. */
  get isFull(): boolean {
    return this.#turns.isFull;
  }

  get connectionCount(): number {
    return this.#sockets.size;
  }

  /** A request for any other upgrade (such as h2c) is served as if it had not asked. */
  #switches(request: IncomingMessage): boolean {
    const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket' && request.method === 'GET';
    if (!isWebSocket) this.#declined.add(request);
    return isWebSocket;
  }

  #onHttp1(request: IncomingMessage, response: ServerResponse): void {
    const client = this.#http1Client(request);
    // Received together with a rejected request: it may be a part of that one, and must not be processed.
    if (client !== null) client.pipeline.serve(request, response, () => this.#serveHttp1(client, request, response));
  }

  #serveHttp1(client: Http1Client, request: IncomingMessage, response: ServerResponse): void {
    const reading = this.#read(request, client.facts, false);
    // Bytes after ambiguous input would be misread, and the parser stops at a declined upgrade: closes.
    if (!reading.ok || this.#declined.has(request)) {
      response.setHeader('connection', 'close');
      client.endAfterCurrent();
    }
    const hasBody = reading.ok && (reading.head.isChunked || (reading.head.contentLength ?? 0) > 0);
    this.#handle(new Http1Facts(client.facts, response), {
      reading,
      writer: client.writerFor(response, this.#drain),
      source: hasBody ? request : null,
      trailers: hasBody
        ? () => this.#rules.dropped.forwardableTrailers(request.rawTrailers, request.method ?? '')
        : NO_TRAILERS,
      isBodyWhole: hasBody ? () => request.complete : YES,
      accept: request.headers.accept,
    });
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, firstBytes: Buffer): void {
    const client = this.#http1Client(request);
    if (client === null) return;
    if (client.pipeline.isBusy) client.handedOver();
    client.pipeline.serve(request, null, () => this.#serveUpgrade(client, request, socket, firstBytes));
  }

  #serveUpgrade(client: Http1Client, request: IncomingMessage, socket: Duplex, firstBytes: Buffer): void {
    this.#handle(client.facts, {
      reading: this.#read(request, client.facts, true),
      writer: new Http1SwitchWriter(socket, firstBytes, client),
      source: null,
      trailers: NO_TRAILERS,
      isBodyWhole: YES,
      accept: request.headers.accept,
    });
  }

  readonly #ownerOf = ({ socket }: { readonly socket: Duplex }): ListenerOwner =>
    this.#sockets.get(socket) ?? closing(socket, 'HTTP/1.1 server');

  #ownerOfStream(stream: ServerHttp2Stream): ListenerOwner {
    const client = stream.session === undefined ? undefined : this.#sessions.get(stream.session);
    return client ?? closing(stream, 'HTTP/2 server');
  }

  #http1Client(request: IncomingMessage): Http1Client | null {
    const client = this.#sockets.get(request.socket);
    return client instanceof Http1Client && !client.isOver ? client : null;
  }

  /** The parser rejected it. */
  #refuseUnread(client: Http1Client, socket: Duplex, { code, message }: RequestProblem): void {
    this.#handle(client.facts, {
      reading: { ok: false, code, message },
      writer: new Http1SwitchWriter(socket, NOTHING, client),
      source: null,
      trailers: NO_TRAILERS,
      isBodyWhole: YES,
      accept: undefined,
    });
  }

  #read(request: IncomingMessage, { isFromProxy }: ConnectionFacts, hasUpgrade: boolean): HeadReading {
    if (request.rawHeaders.length > 2 * this.#limits.maxHeaderCount) return TOO_LARGE;
    const message = versionProblem(request);
    return message === null
      ? readHead(http1Head(request, hasUpgrade, this.#scheme, isFromProxy), this.#rules)
      : { ok: false, code: 'ERR_POSTERN_BAD_HTTP', message };
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
    const tooLarge = isTooLarge(raw, this.#limits) ? TOO_LARGE : null;
    const isWhole = stream.endAfterHeaders;
    // A request with a body is never deferred: its trailers and its end must find their listeners.
    if (isWhole && this.#turns.take()) {
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
    this.#turns.later(guarded(this.#ownerOfStream(stream), serve));
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
