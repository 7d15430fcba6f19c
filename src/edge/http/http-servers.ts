import {
  createServer as createHttp1Server,
  type Server as Http1Server,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { ConnectionFacts } from '../edge-connection.ts';
import type { HeaderList } from '../upstream/upstream.ts';
import type { ClientPort } from './client-port.ts';
import { Http1Port } from './http1-port.ts';
import { Http1SwitchPort } from './http1-switch-port.ts';
import { Http2Port } from './http2-port.ts';
import { forwardableTrailers, type HeadReading, type RawHead, readHead } from './request-head.ts';

export interface HttpLimits {
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxConcurrentStreams: number;
}

export interface IncomingRequest {
  readonly reading: HeadReading;
  readonly port: ClientPort;
  /** Null when there is no body. */
  readonly source: IncomingMessage | ServerHttp2Stream | null;
  readonly trailers: () => HeaderList;
  /** For an error page when the head could not be read. */
  readonly accept: string | undefined;
}

export type RequestHandler = (connection: ConnectionFacts, request: IncomingRequest) => void;

/** How often slow heads are looked for; the runtime's default of 30 s would be the timeout that counts. */
const CHECK_INTERVAL_MS = 1000;
const NO_TRAILERS = (): HeaderList => [];

/** A connection's facts as one request on it has them: to retire it is to say so in that request's answer. */
class Http1Facts implements ConnectionFacts {
  readonly edgeId: string;
  readonly tlsGeneration: string;
  readonly tlsVersion: string;
  readonly clientAuthorities: readonly string[];
  readonly remoteAddress: string;
  readonly clientCertificate: ConnectionFacts['clientCertificate'];
  readonly #response: ServerResponse;

  constructor(facts: ConnectionFacts, response: ServerResponse) {
    this.edgeId = facts.edgeId;
    this.tlsGeneration = facts.tlsGeneration;
    this.tlsVersion = facts.tlsVersion;
    this.clientAuthorities = facts.clientAuthorities;
    this.remoteAddress = facts.remoteAddress;
    this.clientCertificate = facts.clientCertificate;
    this.#response = response;
  }

  retire(): void {
    this.#response.setHeader('connection', 'close');
  }
}

/** HTTP/1.1 and HTTP/2 on sockets whose handshake is already done. Neither server listens by itself. */
export class HttpServers {
  readonly #http1: Http1Server;
  readonly #http2: Http2Server;
  readonly #handle: RequestHandler;
  readonly #maxHeaderCount: number;
  readonly #idleTimeoutMs: number;
  /** Requests to switch to something that the edge does not know. */
  readonly #declined = new WeakSet<IncomingMessage>();
  /** Taken out when no more may come on a connection. */
  readonly #facts = new WeakMap<object, ConnectionFacts>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #sockets = new Map<TLSSocket, 'h2' | 'http/1.1'>();
  #arriving: Omit<ConnectionFacts, 'retire'> | null = null;
  readonly #drain = { isDraining: false };

  constructor(limits: HttpLimits, handle: RequestHandler) {
    this.#handle = handle;
    this.#idleTimeoutMs = limits.keepAliveTimeoutMs;
    this.#http1 = createHttp1Server({
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      // Refused by us, like every other request that names no host.
      requireHostHeader: false,
      shouldUpgradeCallback: (request: IncomingMessage) => this.#switches(request),
    });
    // The runtime drops what is beyond its count without a word: one more than allowed shows that there were too many.
    this.#http1.maxHeadersCount = limits.maxHeaderCount + 1;
    this.#maxHeaderCount = limits.maxHeaderCount;
    // Timeouts of slow heads and the list of idle connections begin with this event, and this server never listens.
    this.#http1.emit('listening');
    this.#http1.on('request', (request, response) => this.#onHttp1(request, response));
    // Answered by the upstream, or by the edge before its body is asked for.
    this.#http1.on('checkContinue', (request, response) => this.#onHttp1(request, response));
    this.#http1.on('checkExpectation', (request, response) => this.#onHttp1(request, response));
    this.#http1.on('upgrade', (request, socket, firstBytes) => this.#onUpgrade(request, socket, firstBytes));
    this.#http1.on('connect', (request, socket, firstBytes) => this.#onUpgrade(request, socket, firstBytes));
    this.#http1.on('clientError', (error, socket) => {
      // One whose request was refused has its answer, and ends with it.
      if (this.#facts.has(socket)) refuseHttp1(error, socket);
    });
    this.#http2 = createHttp2Server({
      maxSessionMemory: 64,
      maxHeaderListPairs: limits.maxHeaderCount,
      settings: {
        maxConcurrentStreams: limits.maxConcurrentStreams,
        maxHeaderListSize: limits.maxHeaderBytes,
        enableConnectProtocol: true,
      },
    });
    this.#http2.on('session', (session) => this.#onSession(session));
    this.#http2.on('stream', (stream, headers, _flags, raw: unknown) =>
      this.#onStream(stream as ServerHttp2Stream, headers, raw as string[]),
    );
    this.#http2.on('sessionError', () => {});
  }

  accept(socket: TLSSocket, protocol: 'h2' | 'http/1.1', facts: Omit<ConnectionFacts, 'retire'>): void {
    this.#sockets.set(socket, protocol);
    socket.once('close', () => this.#sockets.delete(socket));
    if (protocol === 'http/1.1') {
      this.#facts.set(socket, { ...facts, retire: () => {} });
      this.#http1.emit('connection', socket);
      return;
    }
    // The session's event comes before `emit` returns: this is how a session learns whose it is.
    this.#arriving = facts;
    this.#http2.emit('connection', socket);
    this.#arriving = null;
  }

  /** GOAWAY to HTTP/2, `Connection: close` to HTTP/1.1; what is under way finishes. */
  startDraining(): void {
    this.#drain.isDraining = true;
    for (const session of this.#sessions) session.close();
    this.#http1.closeIdleConnections();
  }

  /** Ends each connection when its last bytes are out; what is left at the deadline is cut. All requests must be over by now. */
  async close(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    // An HTTP/2 session ends by itself when its last stream has.
    for (const [socket, protocol] of this.#sockets) if (protocol === 'http/1.1') socket.destroySoon();
    while (this.#sockets.size > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    for (const socket of this.#sockets.keys()) socket.destroy();
    this.#http1.close();
  }

  get connectionCount(): number {
    return this.#sockets.size;
  }

  /** Anything else that asks to upgrade (h2c, say) is served as if it had not. */
  #switches(request: IncomingMessage): boolean {
    const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket' && request.method === 'GET';
    if (!isWebSocket) this.#declined.add(request);
    return isWebSocket;
  }

  #onHttp1(request: IncomingMessage, response: ServerResponse): void {
    const facts = this.#facts.get(request.socket);
    // Came together with one that was refused: it may be a part of that, and nobody is to see it.
    if (facts === undefined) return;
    const connection = new Http1Facts(facts, response);
    const reading = this.#read(request, false);
    // Whatever could be read in two ways may be followed by bytes that are read wrongly: the connection ends. So it does when
    // an upgrade was declined: the runtime's parser stops there.
    if (!reading.ok || this.#declined.has(request)) {
      response.setHeader('connection', 'close');
      this.#facts.delete(request.socket);
    }
    const hasBody = reading.ok && (reading.head.isChunked || (reading.head.contentLength ?? 0) > 0);
    this.#handle(connection, {
      reading,
      port: new Http1Port(response, this.#drain),
      source: hasBody ? request : null,
      trailers: hasBody ? () => forwardableTrailers(request.rawTrailers) : NO_TRAILERS,
      accept: request.headers.accept,
    });
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, firstBytes: Buffer): void {
    const facts = this.#facts.get(request.socket);
    if (facts === undefined) return;
    this.#handle(facts, {
      reading: this.#read(request, true),
      port: new Http1SwitchPort(socket, firstBytes),
      source: null,
      trailers: NO_TRAILERS,
      accept: request.headers.accept,
    });
  }

  #read(request: IncomingMessage, hasUpgrade: boolean): HeadReading {
    if (request.rawHeaders.length > 2 * this.#maxHeaderCount) {
      return { ok: false, code: 'ERR_POSTERN_HEADERS_TOO_LARGE', why: 'it has too many headers' };
    }
    const why = versionProblem(request);
    return why === null ? readHead(http1Head(request, hasUpgrade)) : { ok: false, code: 'ERR_POSTERN_BAD_HTTP', why };
  }

  #onSession(session: ServerHttp2Session): void {
    if (this.#arriving !== null) this.#facts.set(session, { ...this.#arriving, retire: () => session.close() });
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    session.on('error', () => {});
    // GOAWAY to one that rests; a stream that is only quiet goes on.
    session.setTimeout(this.#idleTimeoutMs, () => session.close());
    if (this.#drain.isDraining) session.close();
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const facts = stream.session === undefined ? undefined : this.#facts.get(stream.session);
    if (facts === undefined) {
      stream.close();
      return;
    }
    const reading = readHead(http2Head(headers, raw));
    const hasBody = !stream.endAfterHeaders && headers[':protocol'] === undefined;
    this.#handle(facts, {
      reading: withStreamedBody(reading, hasBody),
      port: new Http2Port(stream, String(headers[':method'])),
      source: hasBody ? stream : null,
      trailers: hasBody ? trailersOf(stream) : NO_TRAILERS,
      accept: headers.accept,
    });
  }
}

function trailersOf(stream: ServerHttp2Stream): () => HeaderList {
  let trailers: HeaderList = [];
  stream.on('trailers', (_fields, _flags, rawTrailers: unknown) => {
    trailers = forwardableTrailers(rawTrailers as string[]);
  });
  return () => trailers;
}

/** The runtime's parser takes any version that has a dot. */
function versionProblem({ httpVersion, headers }: IncomingMessage): string | null {
  if (httpVersion === '1.1') return null;
  if (httpVersion !== '1.0') return 'its version is neither HTTP/1.1 nor HTTP/1.0';
  // RFC 9112 §6.1: whoever wrote it cannot have meant what it says.
  return headers['transfer-encoding'] === undefined ? null : 'HTTP/1.0 has no Transfer-Encoding';
}

function http1Head(request: IncomingMessage, hasUpgrade: boolean): RawHead {
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    scheme: 'http/1',
    rawHeaders: request.rawHeaders,
    authority: null,
    protocol: null,
    hasUpgrade,
  };
}

function http2Head(headers: IncomingHttpHeaders, raw: readonly string[]): RawHead {
  let end = 0;
  while (end < raw.length && raw[end]?.startsWith(':') === true) end += 2;
  return {
    method: headers[':method'] ?? '',
    target: headers[':path'] ?? '',
    scheme: 'http/2',
    rawHeaders: raw.slice(end),
    authority: headers[':authority'] ?? null,
    protocol: (headers[':protocol'] as string | undefined) ?? null,
    hasUpgrade: false,
  };
}

/** HTTP/2 needs no length: a body without one is streamed as chunks to an HTTP/1.1 upstream. */
function withStreamedBody(reading: HeadReading, hasBody: boolean): HeadReading {
  if (!reading.ok || !hasBody || reading.head.contentLength !== null) return reading;
  return { ok: true, head: { ...reading.head, isChunked: true } };
}

function refuseHttp1(error: Error & { code?: string }, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const [status, text] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431', 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408', 'Request Timeout']
        : ['400', 'Bad Request'];
  const code = status === '431' ? 'ERR_POSTERN_HEADERS_TOO_LARGE' : 'ERR_POSTERN_BAD_HTTP';
  const body = JSON.stringify({
    error_code: code,
    status_code: Number(status),
    msg: 'the request is not well-formed HTTP, and the connection is closed',
    details: {},
  });
  socket.end(
    `HTTP/1.1 ${status} ${text}\r\ncontent-type: application/json\r\npostern-error-code: ${code}\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
