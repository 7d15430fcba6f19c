import { type ClientHttp2Stream, constants } from 'node:http2';
import { messageOf } from '../../kit/error-text.ts';
import { reportBug } from '../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import { headBytes, neverIndexed } from '../../kit/http2/heads.ts';
import { type Shortage, shortageOfCode } from '../../kit/net/shared-places.ts';
import { breakOff } from '../../kit/net/sockets.ts';
import { BodySender, type BodySink } from './body-sender.ts';
import { type DeadlineTicker, TICK_MS, type Ticked } from './deadline-ticker.ts';
import { type CarrierLink, Http2Carrier, Http2SwitchCarrier } from './http2-carrier.ts';
import { http2RequestHeaders, http2ResponseHead, http2ResponseHeaders, isSafe } from './request-headers.ts';
import {
  type Carried,
  type Carrier,
  MAX_INFORMATIONAL,
  type RequestBody,
  type RequestChannel,
  type ResponseHead,
  type UpstreamExchange,
  type UpstreamFailure,
  type UpstreamHandler,
  type UpstreamLimits,
  type UpstreamRequest,
} from './upstream.ts';
import {
  ChannelOverError,
  failed,
  REASON_OF_SHORTAGE,
  REQUEST_BODY,
  reasonOf,
  requestRefusal,
} from './upstream-failure.ts';

const REASONS: Readonly<Record<number, string>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: 'refused_stream',
  [constants.NGHTTP2_CANCEL]: 'cancelled',
  [constants.NGHTTP2_PROTOCOL_ERROR]: 'malformed',
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: 'enhance_your_calm',
  [constants.NGHTTP2_HTTP_1_1_REQUIRED]: 'http1_required',
};

/** The view of a session that one of its streams needs: an upstream's, or an agent's. */
export interface StreamLink extends CarrierLink {
  request(
    headers: readonly string[],
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
    visitor?: string,
  ): ClientHttp2Stream;
  /**
   * The connection has ended, and requests that nobody has answered go to another one. Absent: the owner of the link
   * sees to it.
   */
  readonly isLost?: boolean;
  /** Another node, or a thread of this one, which tells by which node it passes a request on. */
  readonly relay?: 'node' | 'thread' | 'holder';
  /** For requests that switch no protocol. Absent: each is a stream. Null: it has just ended. */
  readonly channel?: RequestChannel | null;
}

export interface Http2ExchangeOwner<Link extends StreamLink> {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  /** Added to every request. */
  readonly ownHeaders: HeaderList;
  /** The request was refused unprocessed, or lost. */
  resend(request: UpstreamRequest, handler: UpstreamHandler, shortage: Shortage | null): UpstreamExchange;
  /** The response asks for NTLM or similar, which authenticates the connection for everybody on it. */
  onConnectionAuth(link: Link): void;
  onOver(): void;
}

export interface Http2ExchangeParts {
  readonly request: UpstreamRequest;
  readonly handler: UpstreamHandler;
  readonly isRetry: boolean;
  /** The request was lost on another way. */
  readonly isRepeat?: boolean;
  /** The other end asks for the body: until then another one can still receive the request. */
  readonly awaitsBodyWanted?: boolean;
  /** For another node or thread, which removes them. They come last. */
  readonly hopHeaders?: HeaderList;
}

const CONTINUE_TIMEOUT_MS = 1000;
/** How long the end of a response may be missing whose announced length has arrived. */
const END_TIMEOUT_MS = 1000;

/**
 * One request with the messages of HTTP/2, as a stream or on a channel. It ends with the end of the response, a reset,
 * or `abort`; one that was refused unprocessed is sent once more. A stream that switched protocols (RFC 8441) is handed
 * over, and ends when it closes.
 */
export class Http2Exchange<Link extends StreamLink> implements UpstreamExchange, BodySink, Ticked, Carried {
  tickPosition = -1;
  readonly #owner: Http2ExchangeOwner<Link>;
  /** Null once it is over, like all references to other objects: some may be kept for a long time. */
  #parts: Http2ExchangeParts | null;
  #body: BodySender | null = null;
  #link: Link | null = null;
  #carrier: Carrier | null = null;
  #switched: ClientHttp2Stream | null = null;
  /** Replaces this exchange after it was sent again. */
  #successor: UpstreamExchange | null = null;
  #hasBytes = false;
  #hasHead = false;
  #hasContinued = false;
  #mayHaveTrailers = false;
  /** Bytes of the response until its announced length; infinite without one. */
  #missingBytes = Number.POSITIVE_INFINITY;
  /** The client cannot accept more: an end may wait behind data. */
  #isHeldBack = false;
  #informational = 0;
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
    const { request, awaitsBodyWanted, hopHeaders } = this.#parts as Http2ExchangeParts;
    const { body } = request;
    const { nowMs } = this.#owner.ticker;
    const headers = http2RequestHeaders(request, this.#owner.ownHeaders);
    if (hopHeaders !== undefined) headers.push(...hopHeaders);
    if (body.framing !== 'none' && !(body.framing === 'length' && body.bytes === 0)) this.#body = new BodySender(body);
    this.#carrier = this.#open(link, headers, request);
    this.#link = link;
    this.#progressAtMs = nowMs;
    this.#owner.ticker.add(this);
    if (this.#body === null) this.#awaitHead();
    else if (awaitsBodyWanted !== true) this.#startBody(body);
  }

  #startBody(body: RequestBody): void {
    if (body.framing !== 'none' && body.expectsContinue)
      this.#continueByMs = this.#owner.ticker.nowMs + CONTINUE_TIMEOUT_MS + TICK_MS;
    else this.#body?.start(this);
  }

  #open(link: Link, headers: readonly string[], { body, switchTo, visitor }: UpstreamRequest): Carrier {
    const hasBody = this.#body !== null;
    const mayHaveTrailers = body.framing === 'chunked';
    const channel = switchTo === null ? link.channel : undefined;
    try {
      if (channel === null) throw new ChannelOverError();
      if (channel !== undefined)
        return channel.open(
          headers,
          { hasBody, mayHaveTrailers, isRepeat: this.#parts?.isRepeat === true, visitor },
          this,
        );
      const endStream = !hasBody && switchTo === null;
      const stream = link.request(neverIndexed(headers), { endStream, waitForTrailers: mayHaveTrailers }, visitor);
      return switchTo === null ? new Http2Carrier(stream, link, this) : new Http2SwitchCarrier(stream, link, this);
    } catch (error) {
      throw requestRefusal(error);
    }
  }

  resume(): void {
    this.#isHeldBack = false;
    if (this.#successor !== null) this.#successor.resume();
    else this.#carrier?.resume();
  }

  get heldBytes(): number {
    return this.#successor?.heldBytes ?? this.#carrier?.heldBytes ?? 0;
  }

  abort(): void {
    if (this.#successor !== null) this.#successor.abort();
    else if (this.#switched !== null) breakOff(this.#switched);
    else this.#release(true);
  }

  writeBody(chunk: Buffer): boolean {
    this.#progressAtMs = this.#owner.ticker.nowMs;
    return this.#carrier?.write(chunk) ?? true;
  }

  endBody(trailers: HeaderList): void {
    this.#carrier?.end(trailers);
    this.#awaitHead();
  }

  onBodyProblem(message: string): void {
    this.#fail(failed(this.#hasHead ? 'body' : 'send', REQUEST_BODY, message, true), true);
  }

  onTick(nowMs: number): void {
    const { idleTimeoutMs, responseTimeoutMs } = this.#owner.limits;
    if (this.#continueByMs !== 0) {
      if (nowMs >= this.#continueByMs) this.#continue();
    } else if (!this.#hasHead && this.#headByMs !== 0) {
      if (nowMs < this.#headByMs) return;
      this.#fail(failed('head', 'timeout', `no response within ${responseTimeoutMs} ms`, true), true);
    } else if (this.#isWhole && nowMs - this.#progressAtMs >= END_TIMEOUT_MS) {
      this.#endWithoutEnd();
    } else if (nowMs - this.#progressAtMs >= idleTimeoutMs) {
      const message = `no data in either direction for ${idleTimeoutMs} ms`;
      const failure = failed(this.#hasHead ? 'body' : 'send', 'timeout', message, true);
      this.#fail({ ...failure, isHeldBack: this.#isHeldBack }, true);
    }
  }

  onDrain(): void {
    this.#progressAtMs = this.#owner.ticker.nowMs;
    this.#body?.resume();
  }

  onBodyWanted(): void {
    if (this.#parts !== null && this.#body?.isStarted === false && !this.#hasHead)
      this.#startBody(this.#parts.request.body);
  }

  onNode(name: string): void {
    const taken = this.#link?.relay === 'thread' ? this.#parts?.request.routeTaken : undefined;
    if (taken !== undefined) taken.tunnelNode = name;
  }

  onInformational(status: number, raw: HeaderList): void {
    if (this.#parts === null) return;
    this.#hasBytes = true;
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) {
      this.#fail(failed('head', 'malformed', 'too many informational responses', true), true);
      return;
    }
    if (this.#isTooLarge(raw)) return;
    if (this.#headByMs !== 0) this.#awaitHead();
    if (status === 100) this.#continue();
    else this.#parts.handler.onInformational(status, http2ResponseHeaders(raw).headers);
  }

  onResponse(status: number, raw: HeaderList, isEnded: boolean): number | null {
    if (this.#parts === null) return 0;
    const { handler, request } = this.#parts;
    this.#hasBytes = true;
    if (this.#isTooLarge(raw)) return 0;
    this.#hasHead = true;
    this.#continueByMs = 0;
    this.#progressAtMs = this.#owner.ticker.nowMs;
    const { head, hasConnectionAuth } = http2ResponseHead(status, raw, request.method === 'HEAD' || isEnded);
    if (request.switchTo !== null && status === 200) {
      this.#giveAway(head);
      return 0;
    }
    if (hasConnectionAuth && this.#link !== null) this.#owner.onConnectionAuth(this.#link);
    this.#mayHaveTrailers = head.bodyBytes === null;
    this.#missingBytes = head.bodyBytes ?? Number.POSITIVE_INFINITY;
    handler.onHead(head);
    return head.bodyBytes;
  }

  /** The runtime announces the limit, but does not enforce it. */
  #isTooLarge(raw: HeaderList): boolean {
    const { maxHeaderBytes } = this.#owner.limits;
    if (headBytes(raw) <= maxHeaderBytes) return false;
    const message = `more than ${maxHeaderBytes} bytes of headers`;
    this.#fail(failed(this.#hasHead ? 'body' : 'head', 'headers_too_large', message, true), true);
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#progressAtMs = this.#owner.ticker.nowMs;
    this.#missingBytes -= chunk.length;
    if (this.#parts === null) return true;
    this.#isHeldBack = !this.#parts.handler.onData(chunk);
    return !this.#isHeldBack;
  }

  /** Only the end of the stream is missing. */
  get #isWhole(): boolean {
    return this.#missingBytes === 0 && !this.#isHeldBack && this.#body?.isDone !== false;
  }

  /** As over HTTP/1.1, the length ends a response: its client has all of it, and must not wait for the upstream. */
  #endWithoutEnd(): void {
    const handler = this.#parts?.handler;
    this.#release(true);
    handler?.onEnd([]);
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

  onEnd(trailers: HeaderList): void {
    if (this.#parts === null || !this.#hasHead || this.#isTooLarge(trailers)) return;
    const { handler, request } = this.#parts;
    const isBodySent = this.#body === null ? request.switchTo === null : this.#body.isDone;
    this.#release(!isBodySent);
    // Where a length was announced, no downstream hop can accept trailers.
    const isForwarded = this.#mayHaveTrailers && trailers.length > 0;
    handler.onEnd(isForwarded ? http2ResponseHeaders(trailers, true).headers : []);
  }

  onClose(code: number, error: Error | null): void {
    if (this.#parts === null) return;
    const { request, handler, isRetry } = this.#parts;
    const shortage = this.#link?.relay === undefined ? null : shortageOfCode(code);
    const isUnseen = (code === constants.NGHTTP2_REFUSED_STREAM || shortage !== null) && !this.#hasBytes;
    // Another exchange, or the network, has ended the connection: RFC 9110 §9.2.2.
    const isLost = this.#link?.isLost === true && !this.#hasBytes && isRepeatable(request);
    const isCalmed =
      code === constants.NGHTTP2_ENHANCE_YOUR_CALM &&
      !this.#hasBytes &&
      this.#link?.onCalm?.() === true &&
      isRepeatable(request);
    const reason = shortage === null ? resetReason(code, error) : REASON_OF_SHORTAGE[shortage];
    const phase = this.#hasHead ? 'body' : this.#hasBytes ? 'head' : 'send';
    const message = error === null ? `the stream was closed with code ${code}` : messageOf(error);
    if ((isUnseen || isLost || isCalmed) && !isRetry && this.#body?.isConsumed !== true) {
      this.#release(false);
      this.#resend(request, handler, shortage);
    } else this.#fail(failed(phase, reason, message, !isUnseen), false);
  }

  #resend(request: UpstreamRequest, handler: UpstreamHandler, shortage: Shortage | null): void {
    try {
      this.#successor = this.#owner.resend(request, handler, shortage);
    } catch (error) {
      handler.onBug(error);
    }
  }

  contain(error: unknown): void {
    const handler = this.#parts?.handler;
    this.#release(true);
    if (handler === undefined) reportBug(error, { part: 'HTTP/2 exchange' });
    else handler.onBug(error);
  }

  #giveAway(head: ResponseHead): void {
    const carrier = this.#carrier;
    const handler = this.#parts?.handler;
    if (carrier === null || handler === undefined) return;
    this.#forget();
    const stream = carrier.giveAway(() => this.#owner.onOver());
    this.#switched = stream;
    handler.onSwitch(head, stream);
  }

  #fail(failure: UpstreamFailure, isReset: boolean): void {
    const handler = this.#parts?.handler;
    this.#release(isReset);
    handler?.onFailure(failure);
  }

  #release(isReset: boolean): void {
    const carrier = this.#carrier;
    if (carrier === null) return;
    this.#body?.stop();
    this.#forget();
    carrier.release(isReset);
    this.#owner.onOver();
  }

  #forget(): void {
    this.#owner.ticker.delete(this);
    this.#carrier = null;
    this.#link = null;
    this.#parts = null;
    this.#body = null;
  }
}

function isRepeatable({ method, body, switchTo }: UpstreamRequest): boolean {
  return isSafe(method) && body.framing === 'none' && switchTo === null;
}

/** The stable reason for the end of a stream. */
function resetReason(code: number, error: Error | null): string {
  const known = REASONS[code];
  if (known !== undefined) return known;
  if (error === null) return 'closed';
  const reason = reasonOf(error);
  return reason === 'failed' ? 'reset' : reason;
}
