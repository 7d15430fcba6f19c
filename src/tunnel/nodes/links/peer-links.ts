import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { guarded, type ListenerOwner } from '../../../kit/guarded-listeners.ts';
import type { JsonValue } from '../../../kit/json.ts';
import type { Shortage } from '../../../kit/net/shared-places.ts';
import type { AgentLink } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import type { ChannelRequestHandler } from '../channel/incoming-channel.ts';

/** Names and numbers of the protocol between nodes. A change that an older node cannot read needs another ALPN name. */

export const PEER_ALPN = 'postern-peer/1';

/** Calls and feeds of the node itself. Streams for agents name a tunnel. */
export const NODE_AUTHORITY = 'node';
export const CALL_PATH = '/call/';
export const FEED_PATH = '/feed/';
/** The channel for requests. Another version of the channel gets another path. */
export const CHANNEL_PATH = '/channel/1';

/** A call's message or its answer. */
export const MAX_CALL_BYTES = 65_536;
/** Calls in progress: of one calling node, and of this node to all others. */
export const MAX_CALLS = 1_000;
export const CALL_TIMEOUT_MS = 2_000;
/** Feeds per connection. */
export const MAX_FEEDS = 16;

/** Most other nodes of an installation, and connections that one of those nodes may have open to this node. */
export const MAX_PEERS = 64;
export const MAX_CONNECTIONS_PER_PEER = 4;
/** Streams of all visitors whose agents are connected to one other node. */
export const MAX_STREAMS = 20_000;

export const DIAL_TIMEOUT_MS = 1_500;
/** Time for the last bytes to be sent before a connection closes. */
export const FLUSH_WITHIN_MS = 1_000;

/** Bounds of a feed: one line without its end, and the bytes that wait for a follower that reads slowly. */
export const MAX_LINE_BYTES = 262_144;
export const MAX_UNSENT_BYTES = 33_554_432;

/** Ping interval and the silence after which a link is out of rotation. */
export const PEER_PING_MS = 500;
export const PEER_SILENT_MS = 1_500;

export interface LinkBounds {
  /** The silence after which the end that pings gives the link up. The other end waits twice as long. */
  readonly silentMs: number;
  /** Unread data that each end may hold. Absent: as much as a connection to an agent. */
  readonly budgetBytes?: number;
}

export const BETWEEN_NODES: LinkBounds = { silentMs: PEER_SILENT_MS };
/**
 * A busy thread delays everything, and that is no reason to cut streams. The threads are close to each other, so wide
 * windows would only hold more for a slow reader, in each thread that a stream passes.
 */
export const BETWEEN_THREADS: LinkBounds = { silentMs: 30_000, budgetBytes: 2 * 1024 * 1024 };

/**
 * A connection that this node dialled to another node. HTTP/2 lets only the client open streams, so each pair of nodes
 * has one connection per direction. A peer link is used like a link to an agent: the other node passes a stream on to
 * its agent.
 */
export interface PeerLink extends AgentLink {
  readonly relay: 'node';
  readonly nodeId: string;
  readonly nodeName: string;
  readonly hasRoom: boolean;
  /** Streams in progress. */
  readonly active: number;
  /**
   * When the last answered ping was sent, by `performance.now()`: the other node was alive and linked then. Received
   * bytes prove less: they may have waited in a buffer while this process or the network stood still.
   */
  readonly heardAtMs: number;
  /** A call got no answer in time, and no later ping has an answer yet. */
  readonly isDoubted: boolean;
}

/** A call's message or its answer, at most 64 KiB. */
export type PeerMessage = { readonly [name: string]: JsonValue };

/** The other node answered with an error. The error's text is for people. */
export class PeerRefusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** There is no link, the link broke, or no answer came in time. The call may have been carried out. */
export class PeerUnreachable extends Error {}

export type PeerCallHandler = (message: PeerMessage, fromNodeId: string) => Promise<PeerMessage>;

/** Reads a feed: lines from one node to the nodes that follow the feed. */
export interface FeedHandler {
  onLine(line: string): void;
  /** The feed ended, with its link or alone. The feed is opened again when the link is up. */
  onEnd(): void;
}

/** A feed of another node that this node follows. */
export interface FollowedFeed {
  /** Ends the feed because its lines are wrong: no more lines, then `onEnd`. It is opened again after a backoff. */
  close(): void;
}

export interface FeedFollower {
  readonly nodeId: string;
  /** False: the follower is gone, or was disconnected because it does not read (`MAX_UNSENT_BYTES` wait). */
  send(line: string): boolean;
  /** Whether the follower reads as fast as lines are sent. While it does not, a long snapshot waits for `onRoom`. */
  readonly hasRoom: boolean;
  /** Called each time `hasRoom` becomes true again. */
  onRoom(listener: () => void): void;
  onGone(listener: () => void): void;
}

/**
 * Takes a stream, with its errors, and calls `onClosed` once after the stream has closed. False, or a shortage of the
 * agent: the handler did not take the stream, and the other node may try elsewhere. The stream has no listeners yet:
 * each listener costs time in every request.
 */
export type PeerStreamHandler = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  raw: readonly string[],
  onClosed: () => void,
) => boolean | Shortage;

export interface PeerLinks {
  /** Links in rotation, by node id. O(1), allocates nothing. */
  get(nodeId: string): PeerLink | undefined;
  all(): Iterable<PeerLink>;
  /**
   * Closes all connections with a node, in both directions. The node gets no more answers to its pings, so its rights
   * that depend on hearing this node end within `PEER_SILENT_MS`.
   */
  drop(nodeId: string, reason: string): void;
  /** A link came into rotation, or left rotation. `onUp` listeners run before the first stream. */
  onUp(listener: (link: PeerLink) => void): () => void;
  onDown(listener: (link: PeerLink) => void): () => void;

  /** Calls a method of another node. Rejects with PeerRefusal or PeerUnreachable. */
  call(
    nodeId: string,
    method: string,
    message: PeerMessage,
    timeoutMs?: number,
    maxAnswerBytes?: number,
  ): Promise<PeerMessage>;
  /**
   * The same over a third node that is linked to the node, for methods of sessions. The node may carry out the call
   * twice if the call was also sent directly.
   */
  relay(nodeId: string, method: string, message: PeerMessage, timeoutMs: number): Promise<PeerMessage>;
  /** One handler per method. A PeerRefusal that the handler throws is the answer; any other error is a bug. */
  serve(method: string, handler: PeerCallHandler, maxAnswerBytes?: number): void;

  /** Calls `onFollower` for each follower of this node's feed `name`. */
  serveFeed(name: string, onFollower: (follower: FeedFollower) => void): void;
  /** Follows the feed `name` of every node, as long as there is a link. */
  followFeeds(name: string, open: (nodeId: string, feed: FollowedFeed) => FeedHandler): void;

  /**
   * Connections and WebSockets (CONNECT) for agents of this node, and requests on the channels of other nodes. A stream
   * or request that no handler takes is refused, and the other node may try elsewhere.
   */
  serveStreams(streams: PeerStreamHandler, requests?: ChannelRequestHandler): void;
}

export interface LivenessOwner extends ListenerOwner {
  /** `sentAtMs`: the other node was alive at this time or later. */
  onAnswer(sentAtMs: number): void;
  onSilent(): void;
}

interface PeerTimings {
  /** Null: this node only listens, because the other node pings. */
  readonly pingMs: number | null;
  readonly silentMs: number;
}

const TICK_MS = 100;
/**
 * A tick that comes late means that this process stood still, and that bytes may wait unread. A late tick counts as no
 * more than two ticks, so that the peer counts as silent only after the event loop could read those bytes.
 */
const MOST_PER_TICK_MS = 2 * TICK_MS;

/**
 * Pings a peer and reports when nothing arrived for too long. Any bytes count: a ping may wait behind a large transfer.
 */
export class PeerLiveness {
  readonly #socket: Socket;
  readonly #session: Http2Session;
  readonly #owner: LivenessOwner;
  readonly #timings: PeerTimings;
  readonly #timer: NodeJS.Timeout;
  #bytesRead = 0;
  #silentMs = 0;
  #tickedAtMs = performance.now();
  #pingedAtMs = Number.NEGATIVE_INFINITY;

  constructor(socket: Socket, session: Http2Session, owner: LivenessOwner, timings: PeerTimings) {
    this.#socket = socket;
    this.#session = session;
    this.#owner = owner;
    this.#timings = timings;
    this.#timer = setInterval(
      guarded(owner, () => this.#tick()),
      TICK_MS,
    ).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  ping(): void {
    const sentAtMs = performance.now();
    this.#pingedAtMs = sentAtMs;
    if (this.#session.destroyed || this.#session.closed) return;
    const answered = guarded(this.#owner, (error: Error | null) => {
      if (error === null) this.#owner.onAnswer(sentAtMs);
    });
    // Returns false while ten pings are unanswered: the connection is busy, or silent.
    this.#session.ping(answered);
  }

  #tick(): void {
    const { pingMs, silentMs } = this.#timings;
    const nowMs = performance.now();
    const passedMs = Math.min(nowMs - this.#tickedAtMs, MOST_PER_TICK_MS);
    this.#tickedAtMs = nowMs;
    const { bytesRead } = this.#socket;
    this.#silentMs = bytesRead === this.#bytesRead ? this.#silentMs + passedMs : 0;
    this.#bytesRead = bytesRead;
    if (this.#silentMs >= silentMs) {
      this.stop();
      this.#owner.onSilent();
    } else if (pingMs !== null && nowMs - this.#pingedAtMs >= pingMs) this.ping();
  }
}
