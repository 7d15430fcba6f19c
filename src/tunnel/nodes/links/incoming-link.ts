import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { attach, guarded, ignoreErrors, listen, listenOnce, reportBug } from '../../../kit/guarded-listeners.ts';
import { SessionWindows } from '../../../kit/http2/session-windows.ts';
import { destroySession } from '../../../kit/http2/sessions.ts';
import { resetStream, watchStreamEnd } from '../../../kit/http2/stream-end.ts';
import { CODE_OF_SHORTAGE, type Shortage } from '../../../kit/net/shared-places.ts';
import { serveLink } from '../../protocol/link-ends.ts';
import { TUNNEL_HEADER } from '../../protocol/protocol.ts';
import type { ChannelOwner } from '../channel/channel.ts';
import { type ChannelRequestHandler, IncomingChannel } from '../channel/incoming-channel.ts';
import type { Follower, ServedFeeds } from './feeds.ts';
import {
  BETWEEN_NODES,
  CALL_PATH,
  CHANNEL_PATH,
  FEED_PATH,
  FLUSH_WITHIN_MS,
  type LinkBounds,
  type LivenessOwner,
  MAX_FEEDS,
  MAX_STREAMS,
  PeerLiveness,
  type PeerStreamHandler,
} from './peer-links.ts';
import type { ServedCalls } from './served-calls.ts';

/** The services of this node for other nodes. */
export interface Served {
  readonly calls: ServedCalls;
  readonly feeds: ServedFeeds;
  streams: PeerStreamHandler;
  requests: ChannelRequestHandler;
  /** A node sent frames that HTTP/2 forbids, and its connection is closed. */
  onViolation(nodeId: string, why: string): void;
}

/** A connection that another node dialled. That node opens all streams: calls, feeds, and streams for agents here. */
export class IncomingLink implements LivenessOwner, ChannelOwner {
  readonly nodeId: string;
  readonly budgetBytes: number | undefined;
  readonly #socket: Socket;
  readonly #session: ServerHttp2Session;
  readonly #served: Served;
  readonly #windows: SessionWindows;
  readonly #liveness: PeerLiveness;
  readonly #followers = new Map<string, Follower>();
  readonly #onClosed: (link: IncomingLink) => void;
  /** One listener for all streams: two closures for each stream would cost time in every request. */
  readonly #onStreamClose = guarded(this, () => {
    this.#active -= 1;
    this.#windows.closed();
  });
  /** The channel. Its stream does not count in `#active`. */
  #channel: IncomingChannel | null = null;
  #active = 0;
  #isClosed = false;

  constructor(
    socket: Socket,
    nodeId: string,
    served: Served,
    onClosed: (link: IncomingLink) => void,
    { silentMs, budgetBytes }: LinkBounds = BETWEEN_NODES,
  ) {
    this.budgetBytes = budgetBytes;
    this.nodeId = nodeId;
    this.#socket = socket;
    this.#served = served;
    this.#onClosed = onClosed;
    const session = serveLink(socket, MAX_STREAMS);
    this.#session = session;
    this.#windows = new SessionWindows(session, budgetBytes === undefined ? {} : { budgetBytes: () => budgetBytes });
    // The other node pings, and gives a silent link up sooner. This only cleans up.
    this.#liveness = new PeerLiveness(socket, session, this, { pingMs: null, silentMs: 2 * silentMs });
    type Head = IncomingHttpHeaders;
    listen(session, 'stream', this, (stream: ServerHttp2Stream, head: Head, _flags: number, raw: readonly string[]) =>
      this.#stream(stream, head, raw),
    );
    listen(session, 'error', this, (error: Error) => this.#failed(error));
    listen(socket, 'error', this, () => this.fail());
    listenOnce(session, 'close', this, () => this.fail());
    listenOnce(socket, 'close', this, () => this.fail());
  }

  /** Whether streams other than feeds or requests on the channel are in progress, or their last bytes are unsent. */
  get isBusy(): boolean {
    return this.#active > this.#followers.size || this.#channel?.isIdle === false;
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'peer connection', peer_id: this.nodeId });
    this.fail();
  }

  onAnswer(): void {}

  onReleased(): void {}

  onBroken(why: string, isViolation: boolean): void {
    if (isViolation) this.#served.onViolation(this.nodeId, why);
    this.fail();
  }

  onClosed(): void {
    this.#channel = null;
    this.#windows.closed();
  }

  onSilent(): void {
    this.fail();
  }

  /** The other node opens no new streams; those in progress may finish. */
  drain(): void {
    this.#channel?.drain();
    if (!this.#session.destroyed) this.#session.close();
  }

  /** Closes after the last bytes have been sent. */
  close(): void {
    this.drain();
    for (const follower of this.#followers.values()) follower.close();
    setTimeout(() => this.fail(), FLUSH_WITHIN_MS).unref();
  }

  fail(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#liveness.stop();
    destroySession(this.#session, this.#socket);
    this.#onClosed(this);
  }

  /** An error of the socket is a lost connection, which is no violation. */
  #failed(error: NodeJS.ErrnoException): void {
    if (error.code?.startsWith('ERR_HTTP2') === true) this.#served.onViolation(this.nodeId, error.message);
    this.fail();
  }

  #stream(stream: ServerHttp2Stream, head: IncomingHttpHeaders, raw: readonly string[]): void {
    if (stream.destroyed || stream.closed || this.#isClosed) {
      ignoreErrors(stream);
      return;
    }
    this.#active += 1;
    this.#windows.opened();
    let bug: unknown = null;
    let taken: boolean | Shortage = false;
    try {
      taken = this.#dispatch(stream, head, raw);
    } catch (error) {
      bug = error;
    }
    if (taken === true) return;
    // No handler took the stream. Other streams of the connection are not affected.
    this.#attend(stream);
    if (bug !== null) reportBug(bug, { part: 'peer stream', peer_id: this.nodeId });
    const code = taken === false ? constants.NGHTTP2_REFUSED_STREAM : CODE_OF_SHORTAGE[taken];
    resetStream(stream, bug === null ? code : constants.NGHTTP2_INTERNAL_ERROR);
  }

  #attend(stream: ServerHttp2Stream): void {
    if (stream.listenerCount('close', this.#onStreamClose) > 0) return;
    watchStreamEnd(stream);
    ignoreErrors(stream);
    attach(stream, 'close', this.#onStreamClose);
  }

  #dispatch(stream: ServerHttp2Stream, head: IncomingHttpHeaders, raw: readonly string[]): boolean | Shortage {
    const { calls, feeds, streams, requests } = this.#served;
    if (head[':method'] === 'CONNECT') return streams(stream, head, raw, this.#onStreamClose);
    // A client's request belongs on the channel. Its path must not be taken for one of the paths below.
    if (head[TUNNEL_HEADER] !== undefined) return false;
    const path = head[':path'] ?? '';
    if (path === CHANNEL_PATH && this.#channel === null) {
      this.#channel = new IncomingChannel(stream, this, { handler: requests, maxStreams: MAX_STREAMS });
      this.#active -= 1;
      return true;
    }
    this.#attend(stream);
    if (path.startsWith(CALL_PATH)) calls.accept(stream, path.slice(CALL_PATH.length), this.nodeId);
    else if (path.startsWith(FEED_PATH)) this.#openFeed(stream, path.slice(FEED_PATH.length), feeds);
    else refuse(stream);
    return true;
  }

  /** A second request for the same feed replaces the first. */
  #openFeed(stream: ServerHttp2Stream, name: string, feeds: ServedFeeds): void {
    this.#followers.get(name)?.close();
    const follower = this.#followers.size < MAX_FEEDS ? feeds.open(stream, name, this.nodeId) : null;
    if (follower === null) {
      refuse(stream);
      return;
    }
    this.#followers.set(name, follower);
    follower.onGone(() => {
      if (this.#followers.get(name) === follower) this.#followers.delete(name);
    });
  }
}

function refuse(stream: ServerHttp2Stream): void {
  stream.respond([':status', '404'], { endStream: true });
  stream.resume();
}
