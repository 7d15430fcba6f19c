import type { Socket } from 'node:net';
import { messageOf } from '../../kit/error-text.ts';
import {
  attach,
  guarded,
  ignoreErrors,
  type ListenerOwner,
  listenOnce,
  reportBug,
} from '../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import { isAccepted } from '../../kit/http/web-sockets.ts';
import { Http1Output } from '../../kit/http1/http1-output.ts';
import { copyOf } from '../../kit/net/waiting-bytes.ts';
import { BodySender, type BodySink } from './body-sender.ts';
import { type DeadlineTicker, TICK_MS, type Ticked } from './deadline-ticker.ts';
import type { ByteTarget, Dialled } from './dial.ts';
import { Http1ResponseParser, type ResponseSink } from './http1-response-parser.ts';
import { hasConnectionAuth, http1RequestHead, lastChunk } from './request-headers.ts';
import type {
  ResponseHead,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamLimits,
  UpstreamRequest,
} from './upstream.ts';
import { failed, isReset, REQUEST_BODY, reasonOf } from './upstream-failure.ts';

export interface ConnectionOwner {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  /** The connection can carry another request. Returns false when it is not wanted. */
  onReusable(connection: Http1Connection): boolean;
  onClosed(connection: Http1Connection): void;
  /** The upstream has closed the connection, which was idle for this long. */
  onIdleClosed(afterMs: number): void;
  /**
   * The connection died before the first byte of a response. Returns whether the request is sent again on another one.
   */
  retries(exchange: Http1Exchange): boolean;
}

/** Maximum wait for `100 Continue` (RFC 9110 §10.1.1 forbids waiting indefinitely). */
const CONTINUE_TIMEOUT_MS = 1000;
/** Honors the upstream's announced keep-alive timeout, minus time for a request to reach it. */
const KEEP_ALIVE_MARGIN_MS = 1000;

function uncork(socket: Socket): void {
  socket.uncork();
}

/**
 * A socket that carries one exchange at a time. *Idle* (no exchange; a byte or an end closes it) → `start` → *busy*
 * until the response is complete, then *idle* again or closed. After a 101 the socket is handed over. Listeners are set
 * once, not per request.
 */
export class Http1Connection implements ResponseSink, BodySink, ByteTarget, Ticked, ListenerOwner {
  tickPosition = -1;
  readonly #socket: Socket;
  readonly #output: Http1Output;
  readonly #owner: ConnectionOwner;
  readonly #parser: Http1ResponseParser;
  #exchange: Http1Exchange | null = null;
  #switchHead: ResponseHead | null = null;
  #error: Error | null = null;
  #isPaused = false;
  #requests = 0;
  /** Busy: deadline of the response head, 0 while the request is being sent. Idle: when the connection is closed. */
  #deadlineMs = 0;
  #continueByMs = 0;
  #progressMark = 0;
  #progressAtMs = 0;
  /** 0: it is not idle. */
  #idleSinceMs = 0;

  constructor({ socket, inlet }: Dialled, owner: ConnectionOwner) {
    const { maxHeaderBytes, maxHeaderCount } = owner.limits;
    this.#socket = socket;
    this.#output = new Http1Output(socket);
    this.#owner = owner;
    this.#parser = new Http1ResponseParser(this, { maxHeaderBytes, maxHeaderCount, isBufferReused: inlet !== null });
    if (inlet === null) attach(socket, 'data', this.#onBytes);
    else inlet.target = this;
    attach(socket, 'drain', this.#onDrain);
    attach(socket, 'end', this.#onEnd);
    attach(socket, 'error', this.#onError);
    attach(socket, 'close', this.#onClose);
    socket.resume();
    owner.ticker.add(this);
  }

  get isUsable(): boolean {
    return this.#socket.writable && this.#socket.readable;
  }

  get idleForMs(): number {
    return performance.now() - this.#idleSinceMs;
  }

  start(exchange: Http1Exchange): void {
    const socket = this.#socket;
    this.#idleSinceMs = 0;
    const { body, request } = exchange;
    this.#exchange = exchange;
    exchange.connection = this;
    exchange.isOnKeptConnection = this.#requests > 0;
    this.#requests += 1;
    this.#progressAtMs = this.#owner.ticker.nowMs;
    this.#deadlineMs = 0;
    this.#parser.begin(request.method === 'HEAD', request.switchTo);
    if (body === null) {
      socket.write(exchange.head, 'latin1');
      this.#awaitHead();
    } else if (exchange.expectsContinue) {
      socket.write(exchange.head, 'latin1');
      this.#continueByMs = this.#owner.ticker.nowMs + CONTINUE_TIMEOUT_MS + TICK_MS;
    } else {
      // Data that the source already has flows in the next tick: head and small body leave in one packet.
      socket.cork();
      socket.write(exchange.head, 'latin1');
      body.start(this);
      process.nextTick(uncork, socket);
    }
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** The exchange was aborted. */
  abandon(): void {
    this.#exchange = null;
    this.destroy();
  }

  destroy(): void {
    this.#idleSinceMs = 0;
    this.#parser.stop();
    this.#owner.ticker.delete(this);
    this.#socket.destroy();
    this.#owner.onClosed(this);
  }

  onBytes(bytes: Buffer): void {
    if (this.#exchange === null) {
      // An unsolicited byte must not become the response to the next request.
      this.destroy();
      return;
    }
    const parser = this.#parser;
    const taken = parser.execute(bytes);
    if (parser.state === 'done') this.#finish(taken < bytes.length);
    else if (parser.state === 'switched') this.#giveAway(bytes.subarray(taken));
    else if (parser.problem !== null) this.#fail(this.#failure(parser.problem.reason, parser.problem.message));
  }

  onInformational(status: number, headers: HeaderList): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    if (this.#deadlineMs !== 0) this.#awaitHead();
    if (status === 100) this.#continue(exchange);
    else exchange.handler.onInformational(status, headers);
  }

  onHead(head: ResponseHead): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    this.#continueByMs = 0;
    if (head.status === 101) {
      this.#switchHead = head;
      return;
    }
    exchange.hasHead = true;
    exchange.handler.onHead(head);
  }

  onData(chunk: Buffer): void {
    if (this.#exchange?.handler.onData(chunk) === false) this.#pause();
  }

  onBorrowedData(chunk: Buffer): void {
    const handler = this.#exchange?.handler;
    if (handler === undefined) return;
    const hasRoom = handler.onBorrowedData?.(chunk) ?? handler.onData(copyOf(chunk));
    if (!hasRoom) this.#pause();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  writeBody(chunk: Buffer): boolean {
    return this.#exchange?.request.body.framing === 'length'
      ? this.#output.write(chunk)
      : this.#output.writeChunk(chunk);
  }

  endBody(trailers: HeaderList): void {
    if (this.#exchange?.request.body.framing === 'chunked') this.#socket.write(lastChunk(trailers), 'latin1');
    this.#awaitHead();
  }

  onBodyProblem(message: string): void {
    this.#fail(failed(this.#exchange?.hasHead === true ? 'body' : 'send', REQUEST_BODY, message, true));
  }

  onTick(nowMs: number): void {
    const exchange = this.#exchange;
    const { idleTimeoutMs, responseTimeoutMs } = this.#owner.limits;
    if (exchange === null) {
      if (nowMs >= this.#deadlineMs) this.destroy();
    } else if (this.#continueByMs !== 0) {
      if (nowMs >= this.#continueByMs) this.#continue(exchange);
    } else if (!exchange.hasHead && this.#deadlineMs !== 0) {
      if (nowMs < this.#deadlineMs) return;
      this.#fail(failed('head', 'timeout', `no response within ${responseTimeoutMs} ms`, true));
    } else if (this.#hasStalled(nowMs, idleTimeoutMs)) {
      const phase = exchange.hasHead ? 'body' : 'send';
      const failure = failed(phase, 'timeout', `no data in either direction for ${idleTimeoutMs} ms`, true);
      this.#fail({ ...failure, isHeldBack: this.#isPaused });
    }
  }

  /** Uses the socket's own counters, so that moving bytes costs nothing extra. */
  #hasStalled(nowMs: number, limitMs: number): boolean {
    const { bytesRead, bytesWritten, writableLength } = this.#socket;
    const mark = bytesRead + bytesWritten - writableLength;
    if (mark !== this.#progressMark) {
      this.#progressMark = mark;
      this.#progressAtMs = nowMs;
    }
    return nowMs - this.#progressAtMs >= limitMs;
  }

  #awaitHead(): void {
    this.#deadlineMs = this.#owner.ticker.nowMs + this.#owner.limits.responseTimeoutMs + TICK_MS;
    this.#progressAtMs = this.#owner.ticker.nowMs;
  }

  /** 100 arrived, or did not arrive in time: either way the client may send its body, and is notified once. */
  #continue(exchange: Http1Exchange): void {
    this.#continueByMs = 0;
    const isFirst = !exchange.hasContinued;
    exchange.hasContinued = true;
    if (exchange.body !== null && !exchange.body.isStarted && !exchange.hasHead) exchange.body.start(this);
    if (isFirst) exchange.handler.onInformational(100, []);
  }

  #finish(hasExtraBytes: boolean): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    const { trailers, isReusable, hasConnectionAuth, keepAliveSeconds } = this.#parser;
    const isBodySent = exchange.body === null || exchange.body.isDone;
    const isPrivate = exchange.isConnectionAuth || hasConnectionAuth;
    this.#exchange = null;
    exchange.end();
    // Bytes after the end of a response may be intended as the response to another client's request.
    if (!isReusable || !isBodySent || isPrivate || hasExtraBytes) this.destroy();
    else this.#rest(keepAliveSeconds);
    exchange.handler.onEnd(trailers);
  }

  #rest(keepAliveSeconds: number): void {
    const { keepAliveMs } = this.#owner.limits;
    const said = keepAliveSeconds === -1 ? keepAliveMs : keepAliveSeconds * 1000 - KEEP_ALIVE_MARGIN_MS;
    this.#deadlineMs = this.#owner.ticker.nowMs + Math.min(keepAliveMs, said);
    this.#continueByMs = 0;
    this.#idleSinceMs = performance.now();
    this.resume();
    if (said <= 0 || !this.#owner.onReusable(this)) this.destroy();
  }

  #idleClosed(): void {
    if (this.#idleSinceMs !== 0) this.#owner.onIdleClosed(this.idleForMs);
    this.destroy();
  }

  #giveAway(rest: Buffer): void {
    const exchange = this.#exchange;
    const head = this.#switchHead;
    if (exchange === null || head === null) return;
    if (!isAccepted(exchange.request.headers, head.headers)) {
      this.#fail(
        this.#failure('malformed', 'a response to a WebSocket handshake without a valid Sec-WebSocket-Accept'),
      );
      return;
    }
    const socket = this.#socket;
    this.#exchange = null;
    this.#owner.ticker.delete(this);
    socket.pause();
    // The end of one direction does not end the other.
    socket.allowHalfOpen = true;
    socket.off('data', this.#onBytes).off('drain', this.#onDrain).off('end', this.#onEnd);
    // The new owner may attach its listeners after the peer resets.
    ignoreErrors(socket).off('error', this.#onError).off('close', this.#onClose);
    listenOnce(socket, 'close', this, () => {
      this.#owner.onClosed(this);
      if (!exchange.isOver) exchange.end();
    });
    if (rest.length > 0) socket.unshift(rest);
    exchange.handler.onSwitch(head, socket);
  }

  #failure(reason: string, message: string): UpstreamFailure {
    const phase = !this.#parser.hasBytes ? 'send' : this.#exchange?.hasHead === true ? 'body' : 'head';
    return failed(phase, reason, message, true);
  }

  #fail(failure: UpstreamFailure): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    this.#exchange = null;
    exchange.body?.stop();
    this.destroy();
    if (failure.phase === 'send' && failure.reason !== REQUEST_BODY && this.#owner.retries(exchange)) return;
    exchange.end();
    exchange.handler.onFailure(failure);
  }

  contain(error: unknown): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.body?.stop();
    this.destroy();
    if (exchange === null) reportBug(error, { part: 'HTTP/1.1 upstream connection' });
    else {
      exchange.end();
      exchange.handler.onBug(error);
    }
  }

  readonly #onBytes = guarded(this, (bytes: Buffer): void => this.onBytes(bytes));

  readonly #onDrain = guarded(this, (): void => this.#exchange?.body?.resume());

  readonly #onEnd = guarded(this, (): void => {
    this.#parser.finish();
    if (this.#exchange === null) this.#idleClosed();
    else if (this.#parser.state === 'done') this.#finish(false);
    else this.#fail(this.#failure('closed', 'the upstream closed the connection'));
  });

  readonly #onError = guarded(this, (error: Error): void => {
    this.#error = error;
  });

  readonly #onClose = guarded(this, (): void => {
    if (this.#exchange === null) this.#idleClosed();
    else if (this.#error === null) this.#fail(this.#failure('closed', 'the connection was closed'));
    else {
      const isUnread = this.#exchange.body !== null && isReset(this.#error);
      this.#fail({ ...this.#failure(reasonOf(this.#error), messageOf(this.#error)), isUnread });
    }
  });
}

/** Notified when an exchange is over. */
export interface ExchangeOwner {
  onOver(exchange: Http1Exchange): void;
}

/**
 * One request in progress: *dialling* (`cancelDial`), *sent* (`connection`), perhaps *dialling* once more when a kept
 * connection turned out to be dead, *switched* (`connection` still, as a raw stream), *over*.
 */
export class Http1Exchange implements UpstreamExchange {
  /** The rest waits in the system. */
  readonly heldBytes = 0;
  readonly request: UpstreamRequest;
  readonly handler: UpstreamHandler;
  readonly head: string;
  readonly body: BodySender | null;
  /** The connection now belongs to this client (NTLM, Negotiate): never reused. */
  readonly isConnectionAuth: boolean;
  connection: Http1Connection | null = null;
  cancelDial: (() => void) | null = null;
  /** Whether the connection had carried a request before: then it may have died unnoticed. */
  isOnKeptConnection = false;
  hasRetried = false;
  /** The client has been asked to send its body. */
  hasContinued = false;
  hasHead = false;
  isOver = false;
  /** Places of the exchange among the connections to this upstream, and to all. */
  placeHere = -1;
  placeInAll = -1;
  readonly #owner: ExchangeOwner;

  constructor(owner: ExchangeOwner, request: UpstreamRequest, handler: UpstreamHandler) {
    const { body } = request;
    this.#owner = owner;
    this.request = request;
    this.handler = handler;
    this.head = http1RequestHead(request);
    this.body =
      body.framing === 'none' || (body.framing === 'length' && body.bytes === 0) ? null : new BodySender(body);
    this.isConnectionAuth = hasConnectionAuth(request.headers);
  }

  get expectsContinue(): boolean {
    const { body } = this.request;
    return body.framing !== 'none' && body.expectsContinue && this.body !== null;
  }

  resume(): void {
    this.connection?.resume();
  }

  abort(): void {
    if (this.isOver) return;
    const { connection, cancelDial } = this;
    this.end();
    cancelDial?.();
    connection?.abandon();
  }

  /** Releases everything before the handler is called: the handler may send the next request immediately. */
  end(): void {
    this.isOver = true;
    this.body?.stop();
    this.connection = null;
    this.cancelDial = null;
    this.#owner.onOver(this);
  }
}
