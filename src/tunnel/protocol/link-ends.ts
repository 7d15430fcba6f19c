import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  performServerHandshake,
  type ServerHttp2Session,
  type Settings,
} from 'node:http2';
import type { Socket } from 'node:net';
import { type ListenerOwner, listen } from '../../kit/guarded-listeners.ts';
import { MAX_HEAD_FIELDS, MAX_HEADER_LIST_SIZE, sendRequest } from '../../kit/http2/heads.ts';
import {
  CONNECTION_WINDOW_BYTES,
  INITIAL_WINDOW_BYTES,
  SessionWindows,
  type WindowBounds,
} from '../../kit/http2/session-windows.ts';
import { destroySession, outliveStreams, SHARED_SESSION, StreamPlaces } from '../../kit/http2/sessions.ts';
import { cancelStream } from '../../kit/http2/stream-end.ts';
import type { Shortage } from '../../kit/net/shared-places.ts';

interface LinkEndOptions {
  readonly maxStreams: number;
  /** Streams that the other end counts, but that are no requests. One request too many would wait for another's end. */
  readonly ownStreams?: number;
  readonly windows?: WindowBounds;
}

/**
 * The end of a connection between two programs of ours that opens all streams, as the HTTP/2 client: a server towards
 * an agent, which dialled it, and a node towards another one, which it dialled.
 */
export abstract class RequestingEnd implements ListenerOwner {
  /** Streams in progress, by visitor. */
  readonly places: StreamPlaces;
  protected readonly socket: Socket;
  protected readonly session: ClientHttp2Session;
  protected readonly windows: SessionWindows;

  constructor(socket: Socket, authority: string, { maxStreams, ownStreams = 0, windows }: LinkEndOptions) {
    this.places = new StreamPlaces(maxStreams);
    this.socket = socket;
    socket.setNoDelay(true);
    this.session = connect(authority, {
      createConnection: () => socket,
      ...SHARED_SESSION,
      maxHeaderListPairs: MAX_HEAD_FIELDS,
      settings: { enablePush: false, initialWindowSize: INITIAL_WINDOW_BYTES, maxHeaderListSize: MAX_HEADER_LIST_SIZE },
    });
    outliveStreams(this.session, socket);
    this.windows = new SessionWindows(this.session, windows);
    listen(this.session, 'remoteSettings', this, ({ maxConcurrentStreams }: Settings) => {
      const requests = (maxConcurrentStreams ?? Number.POSITIVE_INFINITY) - ownStreams;
      this.places.size = Math.min(maxStreams, Math.max(0, requests));
    });
  }

  abstract contain(error: unknown): void;
  protected abstract get isOpen(): boolean;
  /** A stream has ended, and another may take its place. */
  protected abstract onPlaceLeft(): void;

  get active(): number {
    return this.places.held;
  }

  get hasRoom(): boolean {
    return this.isOpen && this.places.shortage() === null;
  }

  shortage(visitor: string | undefined): Shortage | null {
    return this.isOpen ? this.places.shortage(visitor) : null;
  }

  request(
    headers: readonly string[],
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
    visitor?: string,
  ): ClientHttp2Stream {
    const stream = sendRequest(this.session, headers, options);
    this.places.take(stream, visitor);
    this.windows.opened();
    return stream;
  }

  /** The other end has no limit of resets, so a client that goes away costs nobody else anything. */
  reset(stream: ClientHttp2Stream): void {
    cancelStream(stream);
  }

  release(stream: ClientHttp2Stream): void {
    this.places.giveBack(stream);
    this.windows.closed();
    this.onPlaceLeft();
  }

  /** Once the session is connected: the window of the whole connection. */
  protected widen(): void {
    this.session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  }

  protected destroy(): void {
    destroySession(this.session, this.socket);
  }
}

/**
 * Each reset is a visitor of the other program who went away, and any number of them may be legitimate. That program
 * could just as well close the connection: a limit would only let strangers close it.
 */
const UNLIMITED_RESETS = 2 ** 31;

/** The session of the other end, which serves the streams: an agent, which dialled, or a node that was dialled. */
export function serveLink(socket: Socket, maxStreams: number): ServerHttp2Session {
  socket.setNoDelay(true);
  const session = performServerHandshake(socket, {
    ...SHARED_SESSION,
    maxHeaderListPairs: MAX_HEAD_FIELDS,
    streamResetBurst: UNLIMITED_RESETS,
    streamResetRate: UNLIMITED_RESETS,
    settings: {
      enableConnectProtocol: true,
      initialWindowSize: INITIAL_WINDOW_BYTES,
      maxConcurrentStreams: maxStreams,
      maxHeaderListSize: MAX_HEADER_LIST_SIZE,
    },
  });
  outliveStreams(session, socket);
  session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  return session;
}
