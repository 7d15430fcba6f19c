import { constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { guarded, type ListenerOwner, reportBug } from '../../../kit/guarded-listeners.ts';
import { CONNECTION_WINDOW_BYTES, OF_REQUESTS, SessionWindows } from '../../../kit/http2/session-windows.ts';
import { destroySession } from '../../../kit/http2/sessions.ts';
import { ownerOf } from '../../../kit/net/shared-places.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { Http2ResponseWriter } from './http2-response-writer.ts';
import type { PiecesConnection, SmallPieces } from './small-pieces.ts';
import { Stall, type SweepLimits } from './sweep.ts';
import type { UnreadUploads, UploadingConnection, UploadOwner } from './unread-bodies.ts';

/** The runtime's native part of a socket. A session has taken it, and reads without the socket's own methods. */
interface WithHandle {
  readonly _handle: { readStart(): void; readStop(): void } | null;
}

/** What the connections of a server share. */
export interface Http2Shares {
  readonly uploads: UnreadUploads;
  readonly smallPieces: SmallPieces;
}

const TOO_MANY_PIECES = Object.assign(new Error('uploads in too many frames of a few bytes'), {
  code: 'ERR_HTTP2_SMALL_FRAMES',
});

/** A client's connection over HTTP/2. *Open* → *closed* (GOAWAY; streams in progress finish) → the socket ends. */
export class Http2Client implements ListenerOwner, UploadingConnection, PiecesConnection {
  readonly facts: ConnectionFacts;
  readonly session: ServerHttp2Session;
  /** A bug outside of every request, or after one: requests in progress finish, others need another connection. */
  readonly onBug: (error: unknown) => void;
  readonly uploads: UnreadUploads;
  readonly #socket: Socket;
  readonly #smallPieces: SmallPieces;
  /** Null until an upload arrives in small pieces. A proxy has none: it reads the pieces of its visitors itself. */
  #piecesOwner: string | null = null;
  #isRefused = false;
  /** Null before its first long upload. */
  #windows: SessionWindows | null = null;
  /** A list with swap-remove: see LiveExchanges. */
  readonly #writers: Http2ResponseWriter[] = [];
  #quietSinceMs = performance.now();
  /** Bytes read from streams that have ended. */
  #takenBefore = 0;
  readonly #stall = new Stall();
  #isMoving = false;
  /** When it was found closed, without streams. */
  #closedSinceMs: number | null = null;

  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    facts: Omit<ConnectionFacts, 'retire'>,
    { uploads, smallPieces }: Http2Shares,
  ) {
    this.session = session;
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    this.uploads = uploads;
    this.#smallPieces = smallPieces;
    this.#socket = socket;
    this.facts = { ...facts, retire: () => session.close() };
    this.onBug = (error) => {
      reportBug(error, { part: 'HTTP/2 client', remote_address: facts.remoteAddress });
      session.close();
    };
  }

  contain(error: unknown): void {
    this.onBug(error);
    destroySession(this.session, null);
  }

  get responses(): readonly Http2ResponseWriter[] {
    return this.#writers;
  }

  get hasRequests(): boolean {
    return this.#writers.length > 0;
  }

  /** An upload that can fill its window. */
  uploadBegan(): void {
    this.#windows ??= new SessionWindows(this.session, {
      ...OF_REQUESTS,
      budgetBytes: () => this.uploads.windowsPerConnection(this.#uploadOwner),
    });
    if (this.#windows.streams === 0) this.uploads.began(this.#uploadOwner);
    this.#windows.opened();
  }

  uploadEnded(): void {
    this.#windows?.closed();
    if (this.#windows?.streams === 0) this.uploads.ended(this.#uploadOwner);
  }

  /** A small piece has arrived. False: the connection is being ended because of them. */
  takesSmallPiece(): boolean {
    if (this.facts.isFromProxy) return true;
    this.#piecesOwner ??= ownerOf(this.facts.remoteAddress);
    this.#smallPieces.add(this.#piecesOwner, this);
    return !this.#isRefused;
  }

  /** The session must not notice: it would answer nothing that is waiting. */
  pauseReading(): void {
    this.#handle?.readStop();
  }

  resumeReading(): void {
    this.#handle?.readStart();
  }

  /** As the runtime does for empty frames (CVE-2019-9518). */
  refusePieces(): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    destroySession(this.session, null, TOO_MANY_PIECES, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  get #handle(): WithHandle['_handle'] {
    return (this.#socket as unknown as WithHandle)._handle;
  }

  /** The socket has closed. */
  onClosed(): void {
    if (this.#piecesOwner !== null) this.#smallPieces.closed(this.#piecesOwner, this);
  }

  get #uploadOwner(): UploadOwner {
    return this.facts.isFromProxy ? this : ownerOf(this.facts.remoteAddress);
  }

  onUnread(bytes: number): void {
    this.#windows?.unread(bytes);
  }

  /** GOAWAY names the last request that is served, so all that arrived together are read first. */
  closeSoon(): void {
    setImmediate(guarded(this, () => this.session.close()));
  }

  add(writer: Http2ResponseWriter): void {
    writer.position = this.#writers.length;
    this.#writers.push(writer);
  }

  delete(writer: Http2ResponseWriter): void {
    this.#takenBefore += writer.taken;
    const last = this.#writers.pop();
    if (last !== undefined && last !== writer) {
      this.#writers[writer.position] = last;
      last.position = writer.position;
    }
    if (this.#writers.length === 0) this.#quietSinceMs = performance.now();
  }

  /**
   * The connection's window is exhausted, and the client's updates go to some of its streams after the others: a stream
   * that gets nothing may still have a waiting reader.
   */
  get isSentToOthers(): boolean {
    return this.#isMoving && (this.session.state.remoteWindowSize ?? 0) <= 0;
  }

  /**
   * Frames other than requests (pings, a head byte by byte) do not keep a connection open, and a client that does not
   * close its side after GOAWAY does not keep the socket.
   */
  check(nowMs: number, limits: SweepLimits): void {
    let taken = this.#takenBefore;
    for (const writer of this.#writers) taken += writer.taken;
    this.#isMoving = this.#stall.lasts(true, taken, nowMs) < limits.sendTimeoutMs;
    for (let at = this.#writers.length - 1; at >= 0; at -= 1) this.#writers[at]?.check(nowMs, limits);
    if (this.#writers.length > 0) return;
    if (this.session.closed || this.session.destroyed) {
      // Not immediately: its last bytes may still be in flight.
      this.#closedSinceMs ??= nowMs;
      if (nowMs - this.#closedSinceMs >= limits.sendTimeoutMs) this.#socket.destroy();
    } else if (nowMs - this.#quietSinceMs >= limits.idleTimeoutMs) this.session.close();
  }
}
