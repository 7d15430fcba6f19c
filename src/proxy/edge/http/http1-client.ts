import type { Socket } from 'node:net';
import { attach, guarded, ignoreErrors, reportBug } from '../../../kit/guarded-listeners.ts';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import { CarriedBytes, type ParserProblem } from '../../../kit/http1/chunked-body.ts';
import { TOO_MANY_FIELDS } from '../../../kit/http1/header-block.ts';
import { Http1Output } from '../../../kit/http1/http1-output.ts';
import { ownerOf } from '../../../kit/net/shared-places.ts';
import { breakOff } from '../../../kit/net/sockets.ts';
import { beginRoom, recount, renewRoom, waits } from '../../../kit/net/waiting-bytes.ts';
import { type ConnectionFacts, sharingAddress } from '../connections/connection-facts.ts';
import {
  type BodyOwner,
  HeldBytes,
  Http1RequestBody,
  Http1RequestStart,
  unfinishedStartProblem,
} from './http1-request.ts';
import { Http1ResponseWriter, type ResponseOwner } from './http1-response-writer.ts';
import { Http1SwitchWriter } from './http1-switch-writer.ts';
import {
  BAD_HTTP,
  type IncomingRequest,
  NOT_TAKEN,
  type RequestProblem,
  TOO_LARGE,
  TOO_MUCH_UNSENT,
  TOO_SLOW,
} from './incoming-request.ts';
import { http1Head, isHeadTooLarge } from './raw-head.ts';
import { type HeadReading, type HeadRules, readHead } from './request-head.ts';
import type { PiecesConnection, SmallPieces } from './small-pieces.ts';
import { type HeldResponse, LEAST_READ_BYTES } from './stalled-responses.ts';
import { type HttpLimits, Stall, type SweepLimits } from './sweep.ts';
import type { TurnBudget } from './turn-budget.ts';
import type { UnsentResponse } from './unread-bodies.ts';

/** What all HTTP/1.1 connections of a server share. */
export interface Http1Service {
  readonly scheme: 'http' | 'https';
  readonly limits: HttpLimits;
  readonly rules: HeadRules;
  readonly drain: { readonly isDraining: boolean };
  readonly turns: Pick<TurnBudget, 'run'>;
  readonly smallPieces: SmallPieces;
  /** Lines that keep a connection open. */
  readonly keepAlive: string;
  /** Largest head, including what the limit does not count: line breaks, colons and spaces. */
  readonly maxHeadBytes: number;
  handle(connection: ConnectionFacts, request: IncomingRequest): void;
}

const EMPTY_LINES = '\r\n\r\n';
const BLOCK_END = Buffer.from(EMPTY_LINES);
const NOTHING = Buffer.alloc(0);
const NO_TRAILERS = (): HeaderList => [];
const YES = (): boolean => true;
const CR = 13;
const LF = 10;

/**
 * A client's connection over HTTP/1.1. It reads one request at a time: *reading a head* (idle while nothing of it has
 * arrived) → *serving*, while the body is read and the response is written → *reading a head*. Bytes behind a request
 * whose response is not complete are held unread (pipelining, RFC 9112 §9.3.2): served in parallel, an unsafe request
 * could take effect before an earlier one, or although the response to an earlier one closes the connection. *Over*:
 * nothing more is read; the response in progress is the last one. *Given away*: a switch writer has the socket.
 */
export class Http1Client implements ResponseOwner, BodyOwner, UnsentResponse, HeldResponse, PiecesConnection {
  readonly facts: ConnectionFacts;
  readonly socket: Socket;
  readonly output: Http1Output;
  readonly #service: Http1Service;
  readonly #carried = new CarriedBytes();
  readonly #start = new Http1RequestStart();
  readonly #held = new HeldBytes();
  readonly #stall = new Stall();
  #pace: Stall | null = null;
  /** Writer of the response in progress. */
  #writer: Http1ResponseWriter | null = null;
  /** The part of the current request that has not arrived. */
  #body: Http1RequestBody | null = null;
  #isOver = false;
  #isReading = false;
  #isBodyFull = false;
  /** The visitor's address has sent too many small chunks. */
  #isHeldBack = false;
  #isPaused = false;
  #served = 0;
  /** Requests that have arrived to their last byte. */
  #received = 0;
  /** What the client was doing at the last check, and since when. */
  #phase = -1;
  #phaseSinceMs = 0;
  /** What is counted as waiting for the client. */
  #countedBytes = 0;

  constructor(socket: Socket, facts: Omit<ConnectionFacts, 'retire'>, service: Http1Service) {
    this.socket = socket;
    this.output = new Http1Output(socket);
    this.#service = service;
    this.facts = { ...facts, retire: () => this.#writer?.retire() };
    attach(socket, 'drain', this.#onDrain);
    attach(socket, 'end', this.#onEnd);
    attach(socket, 'close', this.#onClose);
    // A client that resets the connection appears as 'close'.
    ignoreErrors(socket);
  }

  /** Separate from the constructor: bytes may be waiting. */
  open(): void {
    attach(this.socket, 'data', this.#onBytes);
  }

  get keepAlive(): string {
    return this.#service.keepAlive;
  }

  get clientAddress(): string {
    return this.#writer?.clientAddress || this.facts.remoteAddress;
  }

  get unsentBytes(): number {
    return this.socket.writableLength + (this.#writer?.sender?.heldBytes ?? 0);
  }

  refuseUnsent(): void {
    this.#writer?.fail(TOO_MUCH_UNSENT);
    this.socket.destroy();
  }

  /** Also of a WebSocket, to whose writer the socket belongs. */
  heldForMs(nowMs: number): number {
    const { writableNeedDrain, writableLength, bytesWritten } = this.socket;
    if (!writableNeedDrain && this.#pace === null) return 0;
    this.#pace ??= new Stall(LEAST_READ_BYTES);
    return this.#pace.lasts(writableNeedDrain, bytesWritten - writableLength, nowMs);
  }

  onBegin(bodyBytes: number | null): void {
    beginRoom(this.socket, bodyBytes);
  }

  /** A response that is written at once is only counted if it still waits at the next check. */
  onFull(): void {
    this.#countedBytes = recount(this.socket, this.#countedBytes);
  }

  get isLast(): boolean {
    return this.#isOver || this.#service.drain.isDraining;
  }

  /** A bug outside of every request, or after one. */
  contain(error: unknown): void {
    this.#isOver = true;
    reportBug(error, { part: 'HTTP/1.1 client', remote_address: this.facts.remoteAddress });
    this.socket.destroy();
  }

  readonly #onBytes = guarded(this, (bytes: Buffer): void => {
    // Received together with a rejected request: it may be a part of that one, and must not be processed.
    if (this.#isOver) return;
    if (this.#held.length === 0) this.#read(bytes);
    else {
      this.#held.add(bytes);
      this.#updateFlow();
    }
  });

  #read(bytes: Buffer): void {
    const served = this.#served;
    let at = 0;
    this.#isReading = true;
    try {
      while (at < bytes.length && !this.#isOver) {
        if (this.#body !== null) at = this.#readBody(this.#body, bytes, at);
        else if (this.#canServe && this.#served === served) at = this.#readHead(bytes, at);
        else {
          this.#held.add(bytes.subarray(at));
          break;
        }
      }
    } finally {
      this.#isReading = false;
    }
    this.#updateFlow();
    this.#continueSoon();
  }

  /** The response to an earlier request has been handed to the system. */
  get #canServe(): boolean {
    return this.#writer === null && !this.socket.writableNeedDrain;
  }

  /** Pipelined requests take turns with those of other connections. */
  #continueSoon(): void {
    if (this.#isReading || !this.#canServe || this.#held.length === 0) return;
    this.#service.turns.run(
      guarded(this, () => this.#continue()),
      sharingAddress(this.facts),
    );
  }

  #continue(): void {
    if (this.#isReading || !this.#canServe || this.#held.length === 0) return;
    // A request that starts after its connection closed would never learn that its client is gone.
    if (this.#isOver || !this.socket.writable) {
      this.#held.take();
      return;
    }
    this.#read(this.#held.take());
  }

  #readHead(bytes: Buffer, from: number): number {
    const { maxHeaderCount } = this.#service.limits;
    const { maxHeadBytes } = this.#service;
    const carried = this.#carried;
    const before = carried.length;
    let at = from;
    // RFC 9112 §2.2: empty lines before a request are ignored. They do not start one yet.
    while (before === 0 && bytes[at] === CR && bytes[at + 1] === LF) at += 2;
    if (at === bytes.length) return at;
    const text = carried.take(bytes, at, BLOCK_END, maxHeadBytes);
    const { next } = carried;
    if (text === null) {
      if (unfinishedStartProblem(carried, before)) this.#refuse(BAD_HTTP);
      else if (carried.length === maxHeadBytes) this.#refuse(TOO_LARGE);
      return next;
    }
    if (text === EMPTY_LINES) return next;
    const problem = this.#start.parse(text, maxHeaderCount);
    if (problem !== null) this.#refuse(problem === TOO_MANY_FIELDS ? TOO_LARGE : BAD_HTTP);
    else if (text.length >= this.#service.limits.maxHeaderBytes && this.#isTooLarge()) this.#refuse(TOO_LARGE);
    else return this.#serve(bytes, next);
    return next;
  }

  /** Counted as over HTTP/2. */
  #isTooLarge(): boolean {
    const { target, headers } = this.#start;
    return isHeadTooLarge([':path', target, ...headers], this.#service.limits);
  }

  /** Returns where reading continues. */
  #serve(bytes: Buffer, at: number): number {
    const { method, headers, asksToSwitch, upgrade, isHttp11 } = this.#start;
    const { scheme, rules, limits } = this.#service;
    this.#served += 1;
    renewRoom(this.socket);
    // RFC 9110 §7.8: HTTP/1.0 has no Upgrade.
    const isSwitch = asksToSwitch && upgrade === 'websocket' && method === 'GET' && isHttp11;
    const reading = readHead(http1Head(this.#start, isSwitch, scheme, this.facts.isFromProxy), rules);
    if (isSwitch) {
      this.#giveAway(reading, bytes.subarray(at));
      return bytes.length;
    }
    const head = reading.ok ? reading.head : null;
    const length = head?.contentLength ?? 0;
    const body =
      head !== null && (head.isChunked || length > 0)
        ? new Http1RequestBody(this, head.isChunked ? null : length, limits)
        : null;
    this.#body = body;
    if (body === null) this.#received += 1;
    // Bytes after ambiguous input would be misread.
    this.#isOver = head === null;
    // Any other upgrade (such as h2c) is served as if it had not been requested; but its client may continue with it.
    if (asksToSwitch) this.#start.isKeptAlive = false;
    const writer = new Http1ResponseWriter(this, this.#start, isHttp11 && head?.expectsContinue === true);
    this.#writer = writer;
    this.#service.handle(this.facts, {
      reading,
      writer,
      source: body,
      trailers: body === null ? NO_TRAILERS : () => rules.dropped.forwardableTrailers(body.trailers, method),
      isBodyWhole: body === null ? YES : () => body.isWhole,
      accept: firstValue(headers, 'accept'),
    });
    return at;
  }

  #readBody(body: Http1RequestBody, bytes: Buffer, from: number): number {
    const at = body.feed(bytes, from);
    const small = body.takeSmallPieces();
    if (small > 0 && !this.facts.isFromProxy)
      this.#service.smallPieces.add(ownerOf(this.facts.remoteAddress), this, small);
    if (body.problem !== null) this.#broke(body, problemOf(body.problem));
    else if (body.isWhole) {
      this.#body = null;
      this.#received += 1;
      this.#isBodyFull = false;
    }
    return at;
  }

  /** The current request cannot be read to its end. */
  #broke(body: Http1RequestBody, problem: RequestProblem): void {
    this.#isOver = true;
    const writer = this.#writer;
    if (writer === null) this.socket.destroySoon();
    else writer.fail(problem);
    body.destroy();
  }

  /** No request has been read. */
  #refuse({ code, message }: RequestProblem): void {
    this.#isOver = true;
    // A client that preconnects and never sends a request needs no response.
    if (!this.socket.writable || this.socket.bytesRead === 0) {
      this.socket.destroy();
      return;
    }
    this.#removeListeners();
    this.#service.handle(this.facts, this.#switchRequest({ ok: false, code, message }, NOTHING));
  }

  #giveAway(reading: HeadReading, firstBytes: Buffer): void {
    this.#isOver = true;
    this.#removeListeners();
    this.socket.pause();
    this.#service.handle(this.facts, this.#switchRequest(reading, firstBytes));
  }

  #switchRequest(reading: HeadReading, firstBytes: Buffer): IncomingRequest {
    return {
      reading,
      writer: new Http1SwitchWriter(this.socket, firstBytes, this),
      source: null,
      trailers: NO_TRAILERS,
      isBodyWhole: YES,
      accept: firstValue(this.#start.headers, 'accept'),
    };
  }

  /** The socket belongs to a switch writer from here on. */
  #removeListeners(): void {
    this.socket.off('data', this.#onBytes).off('drain', this.#onDrain).off('end', this.#onEnd);
  }

  onResponseEnd(closes: boolean): void {
    this.#writer = null;
    if (closes || this.#isOver) {
      this.#isOver = true;
      this.socket.destroySoon();
      return;
    }
    this.#body?.discard();
    this.#continueSoon();
  }

  cutOff(isOpenEnded: boolean): void {
    this.#isOver = true;
    this.#writer = null;
    // For HTTP/1.0 a response of unknown length ends with the connection, so this must not look like an end.
    if (isOpenEnded) breakOff(this.socket);
    else this.socket.destroy();
  }

  onBodyWanted(): void {
    this.#isBodyFull = false;
    this.#updateFlow();
  }

  onBodyFull(): void {
    this.#isBodyFull = true;
    this.#updateFlow();
  }

  pauseReading(): void {
    this.#isHeldBack = true;
    this.#updateFlow();
  }

  resumeReading(): void {
    this.#isHeldBack = false;
    this.#updateFlow();
  }

  refusePieces(): void {
    this.socket.destroy();
  }

  /** The socket has closed. */
  onClosed(): void {
    if (this.#isHeldBack) this.#service.smallPieces.closed(ownerOf(this.facts.remoteAddress), this);
  }

  #updateFlow(): void {
    const isPaused = this.#isBodyFull || this.#isHeldBack || this.#held.isFull;
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.socket.pause();
    else this.socket.resume();
  }

  readonly #onDrain = guarded(this, (): void => {
    this.onFull();
    renewRoom(this.socket);
    this.#writer?.drained();
    this.#continueSoon();
  });

  readonly #onEnd = guarded(this, (): void => {
    if (this.#body !== null) this.#broke(this.#body, BAD_HTTP);
    else if (this.#carried.length > 0 && !this.#isOver) this.#refuse(BAD_HTTP);
    else this.socket.end();
  });

  readonly #onClose = guarded(this, (): void => {
    this.#isOver = true;
    waits(-this.#countedBytes);
    this.#countedBytes = 0;
    this.#held.take();
    const writer = this.#writer;
    this.#writer = null;
    writer?.closed();
    this.#body?.destroy();
  });

  /** Closes once its last bytes are sent. */
  endSoon(): void {
    this.#isOver = true;
    this.socket.destroySoon();
  }

  /** Closes it unless a request is in progress, or its first one may be on its way. */
  endIfIdle(): void {
    if (this.#isOver || this.#received === 0 || this.#writer !== null || this.#body !== null) return;
    if (this.#carried.length === 0 && this.#held.length === 0) this.endSoon();
  }

  check(nowMs: number, limits: SweepLimits): void {
    this.#checkInput(nowMs, limits);
    const { writableLength, bytesWritten } = this.socket;
    this.onFull();
    const taken = writableLength === 0 ? 0 : bytesWritten - writableLength;
    if (this.#stall.lasts(writableLength > 0, taken, nowMs) < limits.sendTimeoutMs) return;
    this.#writer?.fail(NOT_TAKEN);
    this.socket.destroy();
  }

  /** Measured from one check to the next, so that a request costs no timer. */
  #checkInput(nowMs: number, { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs }: SweepLimits): void {
    const isAnswering = this.#writer !== null || this.socket.writableLength > 0;
    if (this.#isOver || (isAnswering && this.#body === null) || this.#held.length > 0) {
      this.#phase = -1;
      return;
    }
    const isIdle = this.#carried.length === 0 && this.#body === null;
    const phase = this.#received * 2 + (isIdle ? 0 : 1);
    if (phase !== this.#phase) {
      this.#phase = phase;
      this.#phaseSinceMs = nowMs;
    }
    const lastsMs = nowMs - this.#phaseSinceMs;
    if (this.#body !== null) {
      if (requestTimeoutMs > 0 && lastsMs >= requestTimeoutMs) this.#broke(this.#body, TOO_SLOW);
    } else if (!isIdle || this.#received === 0) {
      if (lastsMs >= headersTimeoutMs) this.#refuse(TOO_SLOW);
    } else if (lastsMs >= idleTimeoutMs) this.socket.destroy();
  }
}

function problemOf({ reason }: ParserProblem): RequestProblem {
  return reason === 'malformed' ? BAD_HTTP : TOO_LARGE;
}
