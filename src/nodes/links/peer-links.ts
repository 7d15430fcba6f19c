import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { AgentLink } from '../../edge/tunnels/online-tunnels.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { ChannelRequestHandler } from '../channel/incoming-channel.ts';

/** Bounds of a feed: one line without its end, and what waits for a follower that reads slowly. */
export const MAX_LINE_BYTES = 262_144;
export const MAX_UNSENT_BYTES = 33_554_432;

/** Ping interval and the silence after which a link is out of rotation. */
export const PEER_PING_MS = 500;
export const PEER_SILENT_MS = 1_500;

/**
 * A connection that this node dialled to another one. HTTP/2 lets only the client open streams, so each pair of nodes
 * has one connection per direction. It is a link like that to an agent: the other node passes a stream on to its agent.
 */
export interface PeerLink extends AgentLink {
  readonly nodeId: string;
  readonly nodeName: string;
  readonly hasRoom: boolean;
  /** Streams in progress. */
  readonly active: number;
  /**
   * It was alive and linked at this time, by `performance.now()`: when the last answered ping was sent. Received bytes
   * prove less: they may have waited in a buffer while this process or the network stood still.
   */
  readonly heardAtMs: number;
  /** A call got no answer in time, and no ping that was sent since then is answered yet. */
  readonly isDoubted: boolean;
}

/** A message that another node sent or answers with, at most 64 KiB. */
export type PeerMessage = { readonly [name: string]: JsonValue };

/** The other node answered with an error; its text is for people. */
export class PeerRefusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** There is no link, it broke, or no answer came in time. The call may have been carried out. */
export class PeerUnreachable extends Error {}

export type PeerCallHandler = (message: PeerMessage, fromNodeId: string) => Promise<PeerMessage>;

/** A feed of lines from one node to those that follow it. */
export interface FeedHandler {
  onLine(line: string): void;
  /** The feed ended, with its link or alone; it is opened again when the link is up. */
  onEnd(): void;
}

/** A feed of another node that this one follows. */
export interface FollowedFeed {
  /** Ends it because its lines are wrong: no more lines follow, then `onEnd`. It is opened again after a backoff. */
  close(): void;
}

export interface FeedFollower {
  readonly nodeId: string;
  /** False: it is gone, or it does not read (`MAX_UNSENT_BYTES` wait) and was disconnected. */
  send(line: string): boolean;
  /** Whether it reads as fast as lines are sent. A long snapshot waits for `onRoom` when this is false. */
  readonly hasRoom: boolean;
  /** Called each time `hasRoom` becomes true again. */
  onRoom(listener: () => void): void;
  onGone(listener: () => void): void;
}

/**
 * Takes a stream, with its errors, and calls `onClosed` once after it has closed. False: it did not take it, and the other
 * node may try elsewhere. The stream has no listeners yet: each would cost time in every request.
 */
export type PeerStreamHandler = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  raw: readonly string[],
  onClosed: () => void,
) => boolean;

export interface PeerLinks {
  /** Links in rotation, by node id. O(1), allocates nothing. */
  get(nodeId: string): PeerLink | undefined;
  all(): Iterable<PeerLink>;
  /**
   * Closes all connections with a node, in both directions. Its pings are answered no more, so whatever it may do only
   * while it hears this node ends within `PEER_SILENT_MS`.
   */
  drop(nodeId: string, reason: string): void;
  /** A link came into rotation, or left it. `up` listeners run before the first stream. */
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
   * The same over another node that is linked to it, for methods of sessions. The call may have been carried out before, if
   * it was sent directly too.
   */
  relay(nodeId: string, method: string, message: PeerMessage, timeoutMs: number): Promise<PeerMessage>;
  /** One handler per method. A handler that throws PeerRefusal answers with it; any other error is a bug of this node. */
  serve(method: string, handler: PeerCallHandler, maxAnswerBytes?: number): void;

  /** Followers of this node's feed of that name. */
  serveFeed(name: string, onFollower: (follower: FeedFollower) => void): void;
  /** Follows that feed of every node, as long as there is a link. */
  followFeeds(name: string, open: (nodeId: string, feed: FollowedFeed) => FeedHandler): void;

  /**
   * Connections and WebSockets (CONNECT) for agents of this node, and requests on the channels of other nodes. What no
   * handler takes is refused, and the other node may try elsewhere.
   */
  serveStreams(streams: PeerStreamHandler, requests?: ChannelRequestHandler): void;
}
