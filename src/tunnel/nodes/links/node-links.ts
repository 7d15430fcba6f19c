import type { Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { peerOf } from '../../../kit/net/arriving-clients.ts';
import { RepeatedWarnings } from '../../../kit/repeated-warnings.ts';
import type { PeerAuthority } from '../../../proxy/pki/peer-authority.ts';
import type { ChannelRequestHandler } from '../channel/incoming-channel.ts';
import type { Membership } from '../membership/membership.ts';
import type { NodeRow } from '../node.ts';
import { nodeFindings } from '../node.ts';
import { callPeer, RelayedCalls } from './call-peer.ts';
import { LinkFeeds, type OpenFeed, ServedFeeds } from './feeds.ts';
import type { Served } from './incoming-link.ts';
import { createPeerListener, IncomingLinks, NodeIdentity } from './incoming-links.ts';
import type { OutgoingLink } from './outgoing-link.ts';
import {
  CALL_TIMEOUT_MS,
  type FeedFollower,
  MAX_CALL_BYTES,
  MAX_CALLS,
  MAX_PEERS,
  type PeerCallHandler,
  type PeerLink,
  type PeerLinks,
  type PeerMessage,
  type PeerStreamHandler,
  PeerUnreachable,
} from './peer-links.ts';
import { PeerSlot, type PeerSlotOwner } from './peer-slot.ts';
import { ServedCalls } from './served-calls.ts';

export interface NodeLinksOptions {
  readonly membership: Membership;
  readonly authority: PeerAuthority;
  /** Reads the nodes from the store now: a node that has just started is not known yet. */
  readAgain(): Promise<void>;
  readonly log: LinksLog;
}

export interface LinksLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A restart takes seconds. A node that stays unreachable for longer is listed as a problem of this node. */
const PROBLEM_AFTER_MS = 5_000;

/** Links with all other nodes, one connection per direction. All data that arrives on links is bounded and checked. */
export class NodeLinks implements PeerLinks {
  /** The caller chooses the address, and starts listening. */
  readonly listener: Server;
  readonly #options: NodeLinksOptions;
  readonly #identity: NodeIdentity;
  readonly #served: Served;
  readonly #incoming: IncomingLinks;
  readonly #feeds: LinkFeeds;
  readonly #slots = new Map<string, PeerSlot>();
  readonly #up = new Map<string, OutgoingLink>();
  readonly #onUp = new Set<(link: PeerLink) => void>();
  readonly #onDown = new Set<(link: PeerLink) => void>();
  /** For each node, why it cannot be reached. A changed reason is logged. */
  readonly #reasons = new Map<string, string>();
  readonly #relayed: RelayedCalls;
  #calls = 0;
  #unsubscribe: (() => void) | null = null;

  private constructor(options: NodeLinksOptions, identity: NodeIdentity) {
    this.#options = options;
    this.#identity = identity;
    const rejections = new RepeatedWarnings(options.log, 'rejected a connection to the peer listener');
    const violations = new RepeatedWarnings(options.log, 'closed a connection of a node that broke the protocol');
    const calls = new RepeatedWarnings(options.log, 'refused a call of another node');
    this.#served = {
      calls: new ServedCalls((nodeId, code, why) => calls.warn({ peer_id: nodeId, why }, `${nodeId} ${code}`)),
      feeds: new ServedFeeds(),
      // Until `serveStreams` is called, this node has no agents.
      streams: () => false,
      requests: () => null,
      onViolation: (nodeId, why) => violations.warn({ peer_id: nodeId, why }, `${nodeId} ${why}`),
    };
    this.#incoming = new IncomingLinks({ ...options, rejections }, this.#served);
    this.#feeds = new LinkFeeds(options.log);
    const { membership } = options;
    this.#relayed = new RelayedCalls({
      links: this,
      ownNodeId: membership.self.id,
      isNode: (nodeId) => membership.get(nodeId) !== undefined,
      carryOut: (method, message, from) => this.#served.calls.carryOut(method, message, from),
    });
    this.listener = createPeerListener({
      identity,
      onConnection: (socket: TLSSocket, nodeId) => this.#incoming.admit(socket, nodeId, peerOf(socket).address),
      onRejected: (fields) => rejections.warn(fields, fields.why),
    });
  }

  static async open(options: NodeLinksOptions): Promise<NodeLinks> {
    const { authority, membership, log } = options;
    const identity = await NodeIdentity.open({
      authority,
      nodeId: membership.self.id,
      nowMs: () => membership.nowMs(),
      onProblem: (err) => log.error({ err }, 'failed to renew the certificate for peers'),
    });
    return new NodeLinks(options, identity);
  }

  /** Dials all other nodes, now and whenever the membership changes. Handlers must be registered before. */
  start(): void {
    this.#unsubscribe = this.#options.membership.onChange(() => this.#follow());
    this.#follow();
  }

  get(nodeId: string): OutgoingLink | undefined {
    return this.#up.get(nodeId);
  }

  all(): Iterable<OutgoingLink> {
    return this.#up.values();
  }

  /** Links in rotation. */
  get size(): number {
    return this.#up.size;
  }

  drop(nodeId: string, reason: string): void {
    this.#slots.get(nodeId)?.drop(reason);
    this.#incoming.drop(nodeId);
  }

  onUp(listener: (link: PeerLink) => void): () => void {
    this.#onUp.add(listener);
    return () => this.#onUp.delete(listener);
  }

  onDown(listener: (link: PeerLink) => void): () => void {
    this.#onDown.add(listener);
    return () => this.#onDown.delete(listener);
  }

  async call(
    nodeId: string,
    method: string,
    message: PeerMessage,
    timeoutMs: number = CALL_TIMEOUT_MS,
    maxAnswerBytes: number = MAX_CALL_BYTES,
  ): Promise<PeerMessage> {
    const link = this.#up.get(nodeId);
    if (link === undefined) throw new PeerUnreachable(`${method} on ${nodeId}: it is not linked`);
    if (this.#calls >= MAX_CALLS) throw new PeerUnreachable(`${method} on ${nodeId}: too many calls are in progress`);
    this.#calls += 1;
    try {
      return await callPeer(link, method, message, { timeoutMs, maxAnswerBytes });
    } finally {
      this.#calls -= 1;
    }
  }

  relay(nodeId: string, method: string, message: PeerMessage, timeoutMs: number): Promise<PeerMessage> {
    return this.#relayed.call(nodeId, method, message, timeoutMs);
  }

  serve(method: string, handler: PeerCallHandler, maxAnswerBytes: number = MAX_CALL_BYTES): void {
    this.#served.calls.add(method, handler, maxAnswerBytes);
  }

  serveFeed(name: string, onFollower: (follower: FeedFollower) => void): void {
    this.#served.feeds.add(name, onFollower);
  }

  followFeeds(name: string, open: OpenFeed): void {
    this.#feeds.follow(name, open);
  }

  serveStreams(streams: PeerStreamHandler, requests?: ChannelRequestHandler): void {
    this.#served.streams = streams;
    if (requests !== undefined) this.#served.requests = requests;
  }

  /** Accepts no more connections and streams; those in progress may finish for up to `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#unsubscribe?.();
    this.listener.close();
    this.#identity.close();
    await this.#incoming.drain(timeoutMs);
    for (const slot of this.#slots.values()) slot.close('this node is being stopped');
    this.#slots.clear();
  }

  #follow(): void {
    const { membership, log } = this.#options;
    const others = membership
      .nodes()
      .filter(({ id, peerAddress }) => id !== membership.self.id && peerAddress !== null);
    if (others.length > MAX_PEERS)
      log.error({ nodes: others.length, limit: MAX_PEERS }, 'too many nodes: some are not linked');
    const wanted = new Map(others.slice(0, MAX_PEERS).map((node) => [node.id, node]));
    for (const [id, slot] of this.#slots) {
      if (wanted.has(id)) continue;
      this.#slots.delete(id);
      slot.retire('it is no longer a node');
      this.#reachable(id);
    }
    for (const [id, node] of wanted) {
      const slot = this.#slots.get(id);
      if (slot === undefined) this.#slots.set(id, new PeerSlot(node, this.#slotOwner));
      else slot.update(node);
    }
  }

  readonly #slotOwner: PeerSlotOwner = {
    context: () => this.#identity.context,
    onUp: (link) => {
      this.#reachable(link.nodeId);
      this.#options.log.info({ peer: link.nodeName, peer_id: link.nodeId }, 'linked to a node');
      for (const listener of this.#onUp) listener(link);
      this.#up.set(link.nodeId, link);
      this.#feeds.linkUp(link);
    },
    onDown: (link, why) => {
      if (this.#up.get(link.nodeId) === link) this.#up.delete(link.nodeId);
      this.#options.log.warn({ peer: link.nodeName, peer_id: link.nodeId, why }, 'lost the link to a node');
      for (const listener of this.#onDown) listener(link);
      this.#feeds.linkDown(link);
    },
    onUnreachable: (node, why, failingMs) => this.#unreachable(node, why, failingMs),
  };

  #unreachable({ id, name, status, peerAddress }: NodeRow, why: string, failingMs: number): void {
    const { membership, log } = this.#options;
    if (this.#reasons.get(id) !== why) {
      this.#reasons.set(id, why);
      log.warn({ peer: name, peer_id: id, address: peerAddress, why }, 'cannot link to a node');
    }
    const isProblem = failingMs >= PROBLEM_AFTER_MS && status !== 'lost';
    const problem = nodeFindings.found('node_unreachable', { name, peerAddress, why }, { id });
    membership.setProblem(`peer ${id}`, isProblem ? problem : null);
  }

  #reachable(id: string): void {
    this.#reasons.delete(id);
    this.#options.membership.setProblem(`peer ${id}`, null);
  }
}
