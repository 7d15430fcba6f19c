import { randomBytes } from 'node:crypto';
import type { ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../../kit/error-text.ts';
import { ignoreErrors, listen, listenOnce, reportBug } from '../../../kit/guarded-listeners.ts';
import { firstValue, type HeaderList, withoutHeader } from '../../../kit/http/header-values.ts';
import { HeadTooLargeError, sendInformational, sendResponse, sendTrailers } from '../../../kit/http2/heads.ts';
import { cancelStream, failStream } from '../../../kit/http2/stream-end.ts';
import { breakOff, splice } from '../../../kit/net/sockets.ts';
import { aside, beginRoom, isCrowded, recount, renewRoom, waits } from '../../../kit/net/waiting-bytes.ts';
import type {
  RequestBody,
  ResponseHead,
  Upstream,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamRequest,
} from '../../../proxy/upstream/upstream.ts';
import { isUnsendable, REQUEST_BODY } from '../../../proxy/upstream/upstream-failure.ts';
import { TUNNEL_STATUS_HEADER } from '../../protocol/protocol.ts';
import type { ExchangeObserver } from '../handle.ts';
import { answerFailure, type LocalFailure, problemText } from './local-failure.ts';
import {
  discardRest,
  type RequestReading,
  type ServedStream,
  type ServedStreamOwner,
  servedStreamOf,
  withoutTunnelHeaders,
} from './served-request.ts';

export interface HttpExchangeParts {
  readonly upstream: Upstream;
  readonly reading: RequestReading;
  /** The Host that the local service sees. */
  readonly authority: string;
  readonly hostport: string;
  readonly observer: ExchangeObserver | null;
  onOver(exchange: HttpExchange): void;
}

const WRONG_ANSWER: LocalFailure = { reason: 'protocol', mayHaveBeenSent: true };
const TOO_LARGE: LocalFailure = { reason: 'headers_too_large', mayHaveBeenSent: true };

/**
 * A gateway request on its way to the local service, and the response back. States: *waiting* for the head,
 * *answering*, perhaps *switched* (WebSocket: bytes both ways), *over*. It ends with the response, a failure, or a
 * reset by the gateway.
 *
 * The runtime throws at responses that it cannot send. Each method called by the upstream client catches that: above it
 * is only a socket listener, where an exception would end the agent.
 */
export class HttpExchange implements UpstreamHandler, ServedStreamOwner {
  status = 0;
  bytesIn = 0;
  bytesOut = 0;
  problem: string | null = null;
  readonly #stream: ServerHttp2Stream;
  /** Null: the request asks to switch protocols. */
  readonly #served: ServedStream | null;
  readonly #parts: HttpExchangeParts;
  #upstream: UpstreamExchange | null = null;
  /** The client sent no key: over HTTP/2 there is none. */
  #hasOwnKey = false;
  #trailers: HeaderList = [];
  #isAnswered = false;
  /** What is counted as waiting for the gateway. */
  #countedBytes = 0;
  #isSwitched = false;
  #isOver = false;

  constructor(stream: ServerHttp2Stream, parts: HttpExchangeParts) {
    this.#stream = stream;
    this.#parts = parts;
    this.#served = servedStreamOf(stream);
    if (this.#served !== null) {
      this.#served.owner = this;
      return;
    }
    ignoreErrors(stream);
    listenOnce(stream, 'close', this, () => this.onClosed());
  }

  /** Throws `UnsafeRequestError` when the request cannot be represented in HTTP/1.1. */
  start(): void {
    const { upstream, observer } = this.#parts;
    const request = this.#request();
    if (observer !== null && request.body.framing !== 'none') {
      listen(request.body.source, 'data', this, (chunk: Buffer) => observer.onRequestData(chunk));
    }
    this.#upstream = upstream.send(request, this);
  }

  #request(): UpstreamRequest {
    const { reading, authority } = this.#parts;
    const isSwitch = reading.method === 'CONNECT';
    const headers = [...reading.headers];
    if (isSwitch) {
      // RFC 8441 §5.1: HTTP/2 has no key, but an HTTP/1.1 service requires one.
      this.#hasOwnKey = firstValue(headers, 'sec-websocket-key') === undefined;
      if (this.#hasOwnKey) headers.push('sec-websocket-key', randomBytes(16).toString('base64'));
    }
    return {
      method: isSwitch ? 'GET' : reading.method,
      target: reading.path,
      authority,
      headers,
      body: isSwitch ? { framing: 'none' } : this.#body(),
      switchTo: isSwitch ? 'websocket' : null,
    };
  }

  #body(): RequestBody {
    const served = this.#served;
    const source = served?.body ?? null;
    const { contentLength, expectsContinue } = this.#parts.reading;
    if (served === null || source === null || contentLength === 0) return { framing: 'none' };
    const onBytes = (count: number): void => {
      this.bytesIn += count;
    };
    const isWhole = (): boolean => source.isWhole;
    if (contentLength !== null)
      return { framing: 'length', bytes: contentLength, source, expectsContinue, onBytes, isWhole };
    return { framing: 'chunked', source, expectsContinue, onBytes, isWhole, trailers: () => served.trailers };
  }

  onInformational(status: number, headers: HeaderList): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed || stream.headersSent) return;
    try {
      sendInformational(stream, [':status', String(status), ...withoutTunnelHeaders(headers)]);
    } catch (error) {
      this.#broke(error);
    }
  }

  onHead(head: ResponseHead): void {
    try {
      this.#head(head);
    } catch (error) {
      this.#broke(error);
    }
  }

  #head(head: ResponseHead): void {
    const { status } = head;
    this.status = status;
    const headers = withoutTunnelHeaders(head.headers);
    this.#parts.observer?.onResponseHead(status, headers);
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const isBodiless = this.#parts.reading.method === 'HEAD' || status === 204 || status === 304;
    const isEmpty = isBodiless || head.bodyBytes === 0;
    const announced = isEmpty ? (head.declaredBytes ?? null) : head.bodyBytes;
    // The gateway would read a 2xx as a completed switch.
    const isDeclined = this.#parts.reading.method === 'CONNECT' && status < 300;
    const statuses = isDeclined
      ? [':status', '502', TUNNEL_STATUS_HEADER, String(status)]
      : [':status', String(status)];
    const framed = [...statuses, ...headers];
    if (announced !== null && status !== 204 && status !== 304) framed.push('content-length', String(announced));
    // Trailers can only follow a body without announced length: gRPC, and chunked responses.
    const waitForTrailers = !isEmpty && announced === null;
    sendResponse(stream, framed, { endStream: isEmpty, waitForTrailers });
    if (!isEmpty) beginRoom(stream, announced);
    if (waitForTrailers && this.#served === null)
      listenOnce(stream, 'wantTrailers', this, () => this.onTrailersWanted());
    if (isEmpty) this.#isAnswered = true;
  }

  /** A response that lost its trailers is incomplete and must not look complete. */
  onTrailersWanted(): void {
    try {
      sendTrailers(this.#stream, this.#trailers);
    } catch {
      failStream(this.#stream);
    }
  }

  onData(chunk: Buffer): boolean {
    this.bytesOut += chunk.length;
    this.#parts.observer?.onResponseData(chunk);
    const stream = this.#stream;
    if (!stream.writable) return true;
    const hasRoom = stream.write(isCrowded() ? aside(chunk) : chunk);
    if (!hasRoom) this.#count();
    if (!hasRoom && this.#served === null && stream.listenerCount('drain') === 0)
      listen(stream, 'drain', this, () => this.onDrain());
    return hasRoom;
  }

  onDrain(): void {
    this.#count();
    renewRoom(this.#stream);
    this.#upstream?.resume();
  }

  onEnd(trailers: HeaderList): void {
    this.#upstream = null;
    this.#trailers = withoutTunnelHeaders(trailers);
    const stream = this.#stream;
    const isEmpty = this.#isAnswered;
    this.#isAnswered = true;
    if (!isEmpty && stream.writable) stream.end();
    this.#count();
    // The gateway has a complete response and discards the rest of the request. Until then nothing may block on
    // back-pressure.
    discardRest(stream);
    this.#over();
  }

  onSwitch(head: ResponseHead, socket: Duplex): void {
    const stream = this.#stream;
    this.#upstream = null;
    if (stream.destroyed || stream.closed) {
      breakOff(socket);
      return;
    }
    // The service's response to a key that only the agent knows means nothing to the client.
    const shown = withoutTunnelHeaders(
      this.#hasOwnKey ? withoutHeader(head.headers, 'sec-websocket-accept') : head.headers,
    );
    try {
      sendResponse(stream, [':status', '200', ...shown]);
    } catch (error) {
      breakOff(socket);
      this.#broke(error);
      return;
    }
    this.#isSwitched = true;
    this.status = 101;
    this.#parts.observer?.onResponseHead(101, shown);
    listen(socket, 'data', this, (chunk: Buffer) => {
      this.bytesOut += chunk.length;
    });
    listen(stream, 'data', this, (chunk: Buffer) => {
      this.bytesIn += chunk.length;
    });
    splice(stream, socket, this, (problem) => {
      this.problem = problem;
      this.#over();
    });
  }

  onFailure(failure: UpstreamFailure): void {
    this.#upstream = null;
    if (failure.reason === REQUEST_BODY) {
      this.problem = failure.message;
      cancelStream(this.#stream);
      this.#over();
    } else this.#fail({ ...failure, isUnread: this.#isUnread(failure) }, failure.message);
  }

  #isUnread({ phase, isUnread = false }: UpstreamFailure): boolean {
    return phase === 'send' && (isUnread || this.#served?.body?.readableEnded === false);
  }

  onBug(error: unknown): void {
    this.contain(error);
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'tunnel exchange' });
    this.#abandon();
    this.problem = `the agent has a bug (${messageOf(error)})`;
    failStream(this.#stream);
    this.#over();
  }

  #broke(error: unknown): void {
    if (!isUnsendable(error)) {
      this.contain(error);
      return;
    }
    this.#abandon();
    const failure = error instanceof HeadTooLargeError ? TOO_LARGE : WRONG_ANSWER;
    this.#fail(failure, `the response of the service cannot be forwarded: ${messageOf(error)}`);
  }

  #abandon(): void {
    this.#upstream?.abort();
    this.#upstream = null;
  }

  #fail(failure: LocalFailure, message: string): void {
    this.problem = problemText(failure, message, this.#parts.hostport);
    if (!this.#stream.headersSent) this.status = 502;
    answerFailure(this.#stream, failure, this.#parts.hostport);
    this.#over();
  }

  /** The stream is gone: the response was complete, or the gateway reset it. */
  onClosed(): void {
    waits(-this.#countedBytes);
    this.#countedBytes = 0;
    if (this.#isOver || this.#isSwitched) return;
    this.#upstream?.abort();
    this.#upstream = null;
    this.problem = 'the client went away';
    this.#over();
  }

  /** What is sent at once is counted for as long as the stream is open. */
  #count(): void {
    this.#countedBytes = recount(this.#stream, this.#countedBytes);
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts.observer?.onEnd(this.problem);
    this.#parts.onOver(this);
  }
}
