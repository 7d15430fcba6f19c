import { type ClientHttp2Stream, constants } from 'node:http2';
import { breakOff } from '../lib/break-off.ts';
import { reportBug } from '../lib/bug-report.ts';
import { ignoreErrors, type ListenerOwner, listen, listenOnce } from '../lib/guarded-listeners.ts';
import type { HeaderList } from '../lib/header-list.ts';
import { hasStreamEnd, watchStreamEnd } from '../lib/http2-stream-end.ts';
import { neverIndexed } from '../lib/never-indexed.ts';
import { bufferPassed } from '../lib/passing-buffers.ts';
import { BodySender, type BodySink } from './body-sender.ts';
import { type DeadlineTicker, TICK_MS, type Ticked } from './deadline-ticker.ts';
import { http2RequestHeaders, http2ResponseHead, http2ResponseHeaders, http2Trailers } from './http2-headers.ts';
import { resetReason } from './http2-reset-reason.ts';
import { requestRefusal } from './unsendable.ts';
import type {
  RequestBody,
  ResponseHead,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamLimits,
  UpstreamRequest,
} from './upstream.ts';
import { failed, messageOf } from './upstream-failure.ts';

/** The view of a session that one of its streams needs: an upstream's, or an agent's. */
export interface StreamLink {
  request(
    headers: readonly string[],
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
  ): ClientHttp2Stream;
  /** Ends a stream early, with CANCEL. */
  reset(stream: ClientHttp2Stream): void;
  /** A stream has ended, for any reason. */
  release(): void;
}

export interface Http2ExchangeOwner<Link extends StreamLink> {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  /** Added to every request. */
  readonly ownHeaders: HeaderList;
  resend(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange;
  /** The response asks for NTLM or similar, which authenticates the connection for everybody on it. */
  onConnectionAuth(link: Link): void;
  onOver(): void;
}

export interface Http2ExchangeParts {
  readonly request: UpstreamRequest;
  readonly handler: UpstreamHandler;
  readonly isRetry: boolean;
  /** The other end sends `BODY_WANTED` before it takes a body: until then another one can still receive the request. */
  readonly awaitsBodyWanted?: boolean;
}

/** An informational status between nodes. It is never forwarded. */
export const BODY_WANTED = 199;

const CONTINUE_TIMEOUT_MS = 1000;
const NO_TRAILERS: HeaderList = [];
/**
 * One request as one stream. It ends with the end of the response, a reset, or `abort`; a stream that was refused
 * unprocessed is sent once more. A stream that switched protocols (RFC 8441) is handed over, and ends when it closes.
 */
export class Http2Exchange<Link extends StreamLink> implements UpstreamExchange, BodySink, Ticked, ListenerOwner {
  tickPosition = -1;
  readonly #owner: Http2ExchangeOwner<Link>;
  /**
   * Null once it is over, like all references to other objects: the runtime keeps some streams, and this object with
   * them, for a long time.
   */
  #parts: Http2ExchangeParts | null;
  #body: BodySender | null = null;
  #link: Link | null = null;
  #stream: ClientHttp2Stream | null = null;
  #switched: ClientHttp2Stream | null = null;
  /** Replaces this exchange after it was sent again. */
  #successor: UpstreamExchange | null = null;
  #requestTrailers: HeaderList = NO_TRAILERS;
  #trailers: HeaderList = NO_TRAILERS;
  #hasBytes = false;
  #hasHead = false;
  #hasContinued = false;
  #continueByMs = 0;
  #headByMs = 0;
  #progressAtMs = 0;

  constructor(owner: Http2ExchangeOwner<Link>, parts: Http2ExchangeParts) {
    this.#owner = owner;
    this.#parts = parts;
  }

  /**
   * Throws `UnsafeRequestError`, or the runtime's error for a session that has just ended; then nothing has started.
   */
  start(link: Link): void {
    const { request, awaitsBodyWanted } = this.#parts as Http2ExchangeParts;
    const { body } = request;
    const { nowMs } = this.#owner.ticker;
    const headers = neverIndexed(http2RequestHeaders(request, this.#owner.ownHeaders));
    if (body.framing !== 'none' && !(body.framing === 'length' && body.bytes === 0)) this.#body = new BodySender(body);
    const stream = this.#open(link, headers, request);
    watchStreamEnd(stream);
    this.#link = link;
    this.#stream = stream;
    this.#progressAtMs = nowMs;
    this.#listen(stream);
    this.#owner.ticker.add(this);
    if (this.#body === null) this.#awaitHead();
    else if (awaitsBodyWanted !== true) this.#startBody(body);
  }

  #startBody(body: RequestBody): void {
    if (body.framing !== 'none' && body.expectsContinue)
      this.#continueByMs = this.#owner.ticker.nowMs + CONTINUE_TIMEOUT_MS + TICK_MS;
    else this.#body?.start(this);
  }

  #open(link: Link, headers: readonly string[], { body, switchTo }: UpstreamRequest): ClientHttp2Stream {
    const endStream = this.#body === null && switchTo === null;
    try {
      return link.request(headers, { endStream, waitForTrailers: body.framing === 'chunked' });
    } catch (error) {
      throw requestRefusal(error);
    }
  }

  resume(): void {
    if (this.#successor !== null) this.#successor.resume();
    else this.#stream?.resume();
  }

  abort(): void {
    if (this.#successor !== null) this.#successor.abort();
    else if (this.#switched !== null) breakOff(this.#switched);
    else this.#letGo(true);
  }

  writeBody(chunk: Buffer): boolean {
    this.#progressAtMs = this.#owner.ticker.nowMs;
    return this.#stream?.write(chunk) ?? true;
  }

  endBody(trailers: HeaderList): void {
    this.#requestTrailers = trailers;
    this.#stream?.end();
    this.#awaitHead();
  }

  onBodyProblem(message: string): void {
    this.#fail(failed(this.#hasHead ? 'body' : 'send', 'request_body', message, true), true);
  }

  onTick(nowMs: number): void {
    const { idleTimeoutMs, responseTimeoutMs } = this.#owner.limits;
    if (this.#continueByMs !== 0) {
      if (nowMs >= this.#continueByMs) this.#continue();
    } else if (!this.#hasHead && this.#headByMs !== 0) {
      if (nowMs < this.#headByMs) return;
      this.#fail(failed('head', 'timeout', `no response within ${responseTimeoutMs} ms`, true), true);
    } else if (nowMs - this.#progressAtMs >= idleTimeoutMs) {
      const message = `no data in either direction for ${idleTimeoutMs} ms`;
      this.#fail(failed(this.#hasHead ? 'body' : 'send', 'timeout', message, true), true);
    }
  }

  /** Each listener costs time in every request; this one captures nothing but the exchange. */
  #listen(stream: ClientHttp2Stream): void {
    listen(stream, 'headers', this, (headers: Http2Head, _flags: number, raw: readonly string[]) =>
      this.#onInformational(headers, raw),
    );
    listen(stream, 'response', this, (headers: Http2Head, flags: number, raw: readonly string[]) =>
      this.#onResponse(headers, flags, raw),
    );
    listen(stream, 'data', this, (chunk: Buffer) => this.#onData(chunk));
    listen(stream, 'end', this, () => this.#onEnd());
    // The cause is known at 'close'.
    ignoreErrors(stream);
    listen(stream, 'close', this, () => this.#onClose(stream));
    if (this.#body === null) return;
    listen(stream, 'drain', this, () => this.#onDrain());
    listen(stream, 'wantTrailers', this, () => this.#sendTrailers(stream));
  }

  /** A request that lost its trailers is incomplete and must not look complete. */
  #sendTrailers(stream: ClientHttp2Stream): void {
    try {
      stream.sendTrailers(http2Trailers(this.#requestTrailers));
    } catch (error) {
      this.onBodyProblem(`its trailers cannot be sent: ${messageOf(error)}`);
    }
  }

  #onDrain(): void {
    this.#progressAtMs = this.#owner.ticker.nowMs;
    this.#body?.resume();
  }

  #onInformational(headers: Http2Head, raw: readonly string[]): void {
    if (this.#parts === null) return;
    const status = Number(headers[':status']);
    if (status === BODY_WANTED && this.#parts.awaitsBodyWanted === true) {
      if (this.#body?.isStarted === false && !this.#hasHead) this.#startBody(this.#parts.request.body);
      return;
    }
    this.#hasBytes = true;
    if (this.#headByMs !== 0) this.#awaitHead();
    if (status === 100) this.#continue();
    else this.#parts.handler.onInformational(status, http2ResponseHeaders(raw).headers);
  }

  #onResponse(headers: Http2Head, flags: number, raw: readonly string[]): void {
    const stream = this.#stream;
    if (stream === null || this.#parts === null) return;
    const status = Number(headers[':status']);
    const { handler, request } = this.#parts;
    this.#hasBytes = true;
    this.#hasHead = true;
    this.#continueByMs = 0;
    this.#progressAtMs = this.#owner.ticker.nowMs;
    const isEnded = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const { head, hasConnectionAuth } = http2ResponseHead(status, raw, request.method === 'HEAD' || isEnded);
    if (request.switchTo !== null && status === 200) {
      this.#giveAway(stream, head);
      return;
    }
    if (hasConnectionAuth && this.#link !== null) this.#owner.onConnectionAuth(this.#link);
    // Where a length was announced, no downstream hop can accept trailers.
    if (head.bodyBytes === null) {
      listen(stream, 'trailers', this, (_fields: unknown, _flags: number, rawTrailers: readonly string[]) => {
        this.#trailers = http2ResponseHeaders(rawTrailers, true).headers;
      });
    }
    handler.onHead(head);
  }

  #onData(chunk: Buffer): void {
    bufferPassed(chunk.length);
    this.#progressAtMs = this.#owner.ticker.nowMs;
    if (this.#parts !== null && !this.#parts.handler.onData(chunk)) this.#stream?.pause();
  }

  #awaitHead(): void {
    const { ticker, limits } = this.#owner;
    this.#headByMs = ticker.nowMs + limits.responseTimeoutMs + TICK_MS;
    this.#progressAtMs = ticker.nowMs;
  }

  #continue(): void {
    this.#continueByMs = 0;
    const isFirst = !this.#hasContinued;
    this.#hasContinued = true;
    if (this.#body !== null && !this.#body.isStarted && !this.#hasHead) this.#body.start(this);
    if (isFirst) this.#parts?.handler.onInformational(100, []);
  }

  #onEnd(): void {
    const stream = this.#stream;
    // A truncated stream also emits 'end'; 'close' tells the difference. A stream reset after its end (RFC 9113 §8.1)
    // is complete. The runtime enforces Content-Length.
    if (stream === null || this.#parts === null || !this.#hasHead || !hasStreamEnd(stream)) return;
    const { handler, request } = this.#parts;
    const isBodySent = this.#body === null ? request.switchTo === null : this.#body.isDone;
    this.#letGo(!isBodySent);
    handler.onEnd(this.#trailers);
  }

  #onClose({ rstCode, errored }: ClientHttp2Stream): void {
    if (this.#stream === null || this.#parts === null) return;
    const { request, handler, isRetry } = this.#parts;
    const isUnseen = rstCode === constants.NGHTTP2_REFUSED_STREAM && !this.#hasBytes;
    const reason = resetReason(rstCode, errored);
    const phase = this.#hasHead ? 'body' : this.#hasBytes ? 'head' : 'send';
    const message = errored === null ? `the stream was closed with code ${rstCode}` : messageOf(errored);
    if (isUnseen && !isRetry && this.#body?.isConsumed !== true) {
      this.#letGo(false);
      this.#resend(request, handler);
    } else this.#fail(failed(phase, reason, message, !isUnseen), false);
  }

  #resend(request: UpstreamRequest, handler: UpstreamHandler): void {
    try {
      this.#successor = this.#owner.resend(request, handler);
    } catch (error) {
      handler.onBug(error);
    }
  }

  /** The session is shared with other streams, which are not affected. */
  contain(error: unknown): void {
    const handler = this.#parts?.handler;
    this.#letGo(true);
    if (handler === undefined) reportBug(error, { part: 'HTTP/2 upstream stream' });
    else handler.onBug(error);
  }

  #giveAway(stream: ClientHttp2Stream, head: ResponseHead): void {
    const link = this.#link;
    const handler = this.#parts?.handler;
    // The listeners stay: they ignore a stream that is no longer ours, and its new owner may attach its own after the
    // peer resets.
    this.#forget();
    stream.pause();
    listenOnce(stream, 'close', this, () => {
      link?.release();
      this.#owner.onOver();
    });
    this.#switched = stream;
    handler?.onSwitch(head, stream);
  }

  #fail(failure: UpstreamFailure, isReset: boolean): void {
    const handler = this.#parts?.handler;
    this.#letGo(isReset);
    handler?.onFailure(failure);
  }

  #letGo(isReset: boolean): void {
    const stream = this.#stream;
    const link = this.#link;
    if (stream === null) return;
    this.#body?.stop();
    this.#forget();
    if (isReset) link?.reset(stream);
    // Data left in its buffers would keep the stream alive, with its share of the session's window.
    stream.resume();
    link?.release();
    this.#owner.onOver();
  }

  #forget(): void {
    this.#owner.ticker.delete(this);
    this.#stream = null;
    this.#link = null;
    this.#parts = null;
    this.#body = null;
  }
}

type Http2Head = Readonly<Record<string, unknown>>;
