import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { ignoreErrors, listen, listenOnce } from '../../../kit/guarded-listeners.ts';
import { type HeaderList, pairsOf } from '../../../kit/http/header-values.ts';
import { neverIndexed, sendInformational, sendResponse, sendTrailers } from '../../../kit/http2/heads.ts';
import {
  cancelStream,
  countPieces,
  failStream,
  type PieceCounter,
  type RequestReader,
  readBy,
  type StreamTaker,
  takeStream,
} from '../../../kit/http2/stream-end.ts';
import { aside, beginRoom, isCrowded, recount, renewRoom, waits } from '../../../kit/net/waiting-bytes.ts';
import type { Http2Client } from './http2-client.ts';
import {
  type HeldPart,
  NO_HEADERS,
  NOT_READ,
  NOT_TAKEN,
  type RequestProblem,
  type ResponseWriter,
  TOO_MUCH_UNSENT,
  TOO_SLOW,
  withOwnHeader,
} from './incoming-request.ts';
import { BodyPieces } from './small-pieces.ts';
import { type HeldResponse, LEAST_READ_BYTES } from './stalled-responses.ts';
import { Stall, type SweepLimits } from './sweep.ts';
import type { UnreadUpload, UnsentResponse } from './unread-bodies.ts';

const noop = (): void => {};
/** A shorter body fits into the smallest window. */
const LONG_UPLOAD_BYTES = 65_535;
/** Memory of a piece of data beside its bytes: 426 were measured, for one with a buffer of its own. */
const PIECE_BYTES = 448;

/**
 * Writes a response over HTTP/2. Nobody reads the stream of a request without a body, and nobody else listens to it:
 * this takes its events. Listeners took 5 % of a request.
 */
export class Http2ResponseWriter
  implements ResponseWriter, RequestReader, PieceCounter, UnreadUpload, UnsentResponse, HeldResponse, StreamTaker
{
  onDrain: () => void = noop;
  onGone: (problem?: RequestProblem) => void = noop;
  onBug: (error: unknown) => void;
  ownHeader: HeaderList = NO_HEADERS;
  clientAddress: string;
  sender: HeldPart | null = null;
  /** Position in the connection's list. */
  position = -1;
  readonly #stream: ServerHttp2Stream;
  readonly #client: Http2Client;
  readonly method: string;
  readonly #isHead: boolean;
  readonly #isConnect: boolean;
  readonly #startedAtMs = performance.now();
  #stall: Stall | null = null;
  #pace: Stall | null = null;
  /** Bytes written to the stream; once switched, how often it has sent everything that was buffered. */
  #given = 0;
  #taken = 0;
  #isSwitched = false;
  readonly #isTaken: boolean;
  #trailers: HeaderList = [];
  #isEnded = false;
  #awaitsDrain = false;
  /** The body can fill a window. */
  #isLongUpload = false;
  /** Bytes and pieces of the body that were not read at once. */
  #unreadBytes = 0;
  #unreadPieces = 0;
  #pieces: BodyPieces | null = null;
  /** What is counted as waiting for the client. */
  #countedBytes = 0;

  constructor(stream: ServerHttp2Stream, method: string, client: Http2Client) {
    this.#stream = stream;
    this.#client = client;
    this.method = method;
    this.#isHead = method === 'HEAD';
    this.#isConnect = method === 'CONNECT';
    this.clientAddress = client.facts.remoteAddress;
    this.onBug = client.onBug;
    client.add(this);
    this.#isTaken = stream.endAfterHeaders && !this.#isConnect;
    if (this.#isTaken) {
      takeStream(stream, this);
      // Otherwise the runtime makes it flow when it has closed, to find that there is nothing to read.
      stream.pause();
      return;
    }
    countPieces(stream, this);
    listen(stream, 'close', this, () => this.#onClose());
    ignoreErrors(stream);
  }

  onEvent(_stream: unknown, event: string | symbol): boolean {
    switch (event) {
      case 'close':
        this.#onClose();
        return true;
      case 'drain':
        if (this.#awaitsDrain) this.#drained();
        return true;
      case 'wantTrailers':
        this.#sendTrailers();
        return true;
      default:
        return event === 'error' || event === 'pause';
    }
  }

  /** Never called: there is no body. */
  onData(): boolean {
    return true;
  }

  onEnd(): void {}

  contain(error: unknown): void {
    this.onBug(error);
  }

  get connection(): Http2Client {
    return this.#client;
  }

  /** Null: the length is unknown. */
  expectBody(contentLength: number | null): void {
    readBy(this.#stream, this);
    if (contentLength !== null && contentLength <= LONG_UPLOAD_BYTES) return;
    this.#isLongUpload = true;
    this.#client.uploadBegan();
  }

  onPiece(bytes: number): void {
    this.#pieces ??= new BodyPieces();
    // The rest of what was read then passes without cost.
    if (this.#pieces.isCounted(bytes) && !this.#client.takesSmallPiece()) failStream(this.#stream);
  }

  onUnread(bytes: number): void {
    this.#unreadBytes += bytes;
    this.#unreadPieces += 1;
    this.#client.uploads.add(this, bytes + PIECE_BYTES);
  }

  /** A client can send single bytes, and each piece is an object. */
  get unreadBytes(): number {
    const { readableLength } = this.#stream;
    return readableLength * (1 + (PIECE_BYTES * this.#unreadPieces) / Math.max(1, this.#unreadBytes));
  }

  refuseUnread(): void {
    this.#fail(NOT_READ);
  }

  get unsentBytes(): number {
    return this.#stream.writableLength + (this.sender?.heldBytes ?? 0);
  }

  refuseUnsent(): void {
    this.#fail(TOO_MUCH_UNSENT);
  }

  /** After its end nothing is held back: all of it has arrived here. */
  heldForMs(nowMs: number): number {
    const isHeld = this.#isSwitched ? this.#stream.writableNeedDrain : this.#awaitsDrain && !this.#isEnded;
    if (!isHeld && this.#pace === null) return 0;
    // Once switched, `taken` counts full buffers.
    this.#pace ??= new Stall(this.#isSwitched ? 1 : LEAST_READ_BYTES);
    return this.#pace.lasts(isHeld, this.taken, nowMs);
  }

  #onClose(): void {
    this.#client.delete(this);
    if (this.#countedBytes > 0) waits(-this.#countedBytes);
    this.#countedBytes = 0;
    if (this.#isLongUpload) this.#client.uploadEnded();
    if (this.#unreadPieces > 0) this.#client.uploads.delete(this);
    if (!this.#isEnded) this.onGone();
  }

  get isHeadSent(): boolean {
    return this.#stream.headersSent;
  }

  /** The stream can no longer carry a response: the runtime throws at every attempt. */
  get isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  /** Changes when the client reads some of the response. */
  get taken(): number {
    const { destroyed, writableFinished, writableLength } = this.#stream;
    // Data discarded by a broken stream was not read.
    if (!destroyed || writableFinished) this.#taken = this.#isSwitched ? this.#given : this.#given - writableLength;
    return this.#taken;
  }

  informational(status: number, headers: HeaderList): void {
    if (!this.isGone && !this.#stream.headersSent)
      sendInformational(this.#stream, [':status', String(status), ...headers]);
  }

  head(status: number, headers: HeaderList, bodyBytes: number | null): void {
    if (this.isGone) return;
    const isEmpty = this.#isHead || bodyBytes === 0 || status === 204 || status === 304;
    const own = withOwnHeader(headers, this.ownHeader);
    const hasLength = bodyBytes !== null && status !== 204 && status !== 304;
    const framed = framedHead(status, own, hasLength ? bodyBytes : null);
    // Trailers can only follow a body without announced length: gRPC, and chunked responses of HTTP/1.1 upstreams.
    const waitForTrailers = bodyBytes === null && !isEmpty;
    sendResponse(this.#stream, neverIndexed(framed), { endStream: isEmpty, waitForTrailers });
    if (!isEmpty) beginRoom(this.#stream, bodyBytes);
    if (isEmpty) this.#finish();
    if (waitForTrailers && !this.#isTaken) listenOnce(this.#stream, 'wantTrailers', this, () => this.#sendTrailers());
  }

  write(chunk: Buffer): boolean {
    if (!this.#stream.writable) return true;
    this.#given += chunk.length;
    const hasRoom = this.#stream.write(isCrowded() ? aside(chunk) : chunk);
    // Few responses fill the buffer: most never need the listener.
    if (!hasRoom && !this.#awaitsDrain) {
      this.#awaitsDrain = true;
      this.#count();
      if (!this.#isTaken) listenOnce(this.#stream, 'drain', this, () => this.#drained());
    }
    return hasRoom;
  }

  #drained(): void {
    this.#awaitsDrain = false;
    this.#count();
    renewRoom(this.#stream);
    this.onDrain();
  }

  end(trailers: HeaderList): void {
    if (this.#isEnded) return;
    this.#finish();
    this.#trailers = trailers;
    this.#stream.end();
    this.#count();
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    if (this.isGone) return;
    const endStream = this.#isHead || body.length === 0;
    const framed = framedHead(status, withOwnHeader(headers, this.ownHeader), body.length);
    sendResponse(this.#stream, neverIndexed(framed), { endStream });
    this.#finish();
    if (endStream) return;
    this.#stream.end(body);
    this.#count();
  }

  /** RFC 8441 §5: 101 in HTTP/1.1 is 200 here, and the stream carries the bytes. */
  acceptSwitch(_status: number, headers: HeaderList): Duplex {
    // §5.1 there: it answers a key, and there was none.
    const shown = pairsOf(headers).filter(([name]) => name !== 'sec-websocket-accept');
    sendResponse(this.#stream, [':status', '200', ...shown.flat()]);
    this.#finish();
    this.#isSwitched = true;
    listen(this.#stream, 'drain', this, () => {
      this.#given += 1;
    });
    return this.#stream;
  }

  wouldOpen(status: number): boolean {
    return this.#isConnect && status < 300;
  }

  check(nowMs: number, { sendTimeoutMs, requestTimeoutMs }: SweepLimits): void {
    const stream = this.#stream;
    if (this.#isSwitched) {
      if (this.#lasts(stream.writableNeedDrain, nowMs) >= sendTimeoutMs && !this.#client.isSentToOthers) this.cut();
      return;
    }
    const hasBytes = stream.writableLength > 0;
    // When the response is sent completely, only the end of the request's body is outstanding.
    const isLate = this.#lasts(hasBytes || this.#isEnded, nowMs) >= sendTimeoutMs;
    if (isLate && !(hasBytes && this.#client.isSentToOthers)) this.#fail(NOT_TAKEN);
    else if (requestTimeoutMs > 0 && nowMs - this.#startedAtMs >= requestTimeoutMs && !isRequestWhole(stream))
      this.#fail(TOO_SLOW);
  }

  /** A response that is sent at once is counted for as long as its stream is open. */
  #count(): void {
    this.#countedBytes = recount(this.#stream, this.#countedBytes);
  }

  /** Few responses wait long enough to be seen here. */
  #lasts(isWaiting: boolean, nowMs: number): number {
    if (!isWaiting && this.#stall === null) return 0;
    this.#stall ??= new Stall();
    return this.#stall.lasts(isWaiting, this.taken, nowMs);
  }

  /** A response that lost its trailers is incomplete and must not look complete. */
  #sendTrailers(): void {
    try {
      sendTrailers(this.#stream, this.#trailers);
    } catch {
      failStream(this.#stream);
    }
  }

  #fail(problem: RequestProblem): void {
    this.onGone(problem);
    // RFC 9113 §8.1: after a complete response, the client is asked not to send the rest of the request. Unread data is
    // discarded.
    const isOut = this.#stream.writableLength === 0 || (problem !== NOT_TAKEN && problem !== TOO_MUCH_UNSENT);
    if (isOut) this.#stream.close(constants.NGHTTP2_NO_ERROR);
    else cancelStream(this.#stream);
  }

  cut(): void {
    this.#finish();
    failStream(this.#stream);
  }

  /**
   * The runtime's map of a session's streams leaves tables behind that keep finished streams alive until the next full
   * garbage collection (see LiveExchanges): those must not keep the exchange too.
   */
  #finish(): void {
    this.#isEnded = true;
    this.onDrain = noop;
    this.onGone = noop;
    this.onBug = this.#client.onBug;
    this.sender = null;
  }
}

/** A list of the right size: one that grows has room for many more. */
function framedHead(status: number, headers: HeaderList, bodyBytes: number | null): string[] {
  const { length } = headers;
  const framed = new Array<string>(length + (bodyBytes === null ? 2 : 4));
  framed[0] = ':status';
  framed[1] = String(status);
  for (let at = 0; at < length; at += 1) framed[at + 2] = headers[at] as string;
  if (bodyBytes !== null) {
    framed[length + 2] = 'content-length';
    framed[length + 3] = String(bodyBytes);
  }
  return framed;
}

function isRequestWhole(stream: ServerHttp2Stream): boolean {
  return stream.endAfterHeaders || stream.readableEnded;
}
