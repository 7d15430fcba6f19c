import { SliceQueue, TimeSlice } from '../../../kit/async/slices.ts';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { FeedFollower, PeerLinks } from '../links/peer-links.ts';
import {
  type AnnouncedSession,
  type AnnouncedTunnel,
  type Announcement,
  type Announcer,
  DIRECTORY_FEED,
  FEED_VERSION,
  type FeedLine,
  MAX_ANNOUNCED_TUNNELS,
} from './announced.ts';
import type { TunnelDirectory } from './tunnel-directory.ts';

/** Many nodes may start to follow this node at the same moment. */
const QUEUE = new SliceQueue();

/**
 * The feed to one node that follows this node: *snapshot* (in slices, as fast as the other node reads), then *changes*.
 * Changes are sent at once, also between items of the snapshot: an item that is sent later contains the change.
 */
class FollowerFeed {
  readonly #follower: FeedFollower;
  readonly #seq: number;
  readonly #items: Iterator<FeedLine>;
  #isSnapshot = true;
  #isStopped = false;
  #isPausing = false;

  constructor(follower: FeedFollower, own: Announcement, seq: number) {
    this.#follower = follower;
    this.#seq = seq;
    this.#items = itemsOf(own);
  }

  start(): void {
    this.#follower.onRoom(() => void this.#continue());
    this.#write({ t: 'begin', v: FEED_VERSION, seq: this.#seq });
    void this.#continue();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Sends a numbered line, after the session that the line refers to. */
  change(line: string, session: AnnouncedSession | null): void {
    if (this.#isStopped) return;
    // The follower may not have received the session yet.
    if (this.#isSnapshot && session !== null) this.#write({ t: 'session', session });
    this.#send(line);
  }

  async #continue(): Promise<void> {
    if (!this.#isSnapshot || this.#isPausing) return;
    const slice = new TimeSlice(QUEUE);
    while (!this.#isStopped && this.#follower.hasRoom) {
      const next = this.#items.next();
      if (next.done === true) {
        this.#isSnapshot = false;
        this.#write({ t: 'end' });
        return;
      }
      this.#write(next.value);
      if (!slice.isOver) continue;
      this.#isPausing = true;
      await slice.next();
      this.#isPausing = false;
    }
  }

  #write(line: FeedLine): void {
    this.#send(JSON.stringify(line));
  }

  #send(line: string): void {
    if (this.#isStopped) return;
    try {
      if (!this.#follower.send(line)) this.stop();
    } catch (error) {
      // The line is too long: the follower notices the gap in the numbers.
      reportBug(error, { part: 'directory feed', node: this.#follower.nodeId });
    }
  }
}

function* itemsOf(own: Announcement): Generator<FeedLine> {
  for (const { session, tunnels } of own.claims.values()) {
    yield { t: 'session', session };
    for (const tunnel of tunnels.values()) yield { t: 'tunnel', tunnel };
  }
}

/** Announces what this node reaches, to its own directory and to the nodes that follow this node. */
export class NodeAnnouncer implements Announcer {
  readonly #directory: TunnelDirectory;
  readonly #followers = new Set<FollowerFeed>();
  readonly #sessionOf = new Map<string, string>();
  #seq = 0;

  constructor(directory: TunnelDirectory) {
    this.#directory = directory;
  }

  serve(links: Pick<PeerLinks, 'serveFeed'>): void {
    links.serveFeed(DIRECTORY_FEED, (follower) => this.#follow(follower));
  }

  get followers(): number {
    return this.#followers.size;
  }

  putSession(session: AnnouncedSession): void {
    const { own } = this.#directory;
    if (!own.claims.has(session.id) && own.claims.size >= MAX_ANNOUNCED_TUNNELS) {
      reportBug(new Error(`a node announces at most ${MAX_ANNOUNCED_TUNNELS} sessions`), { part: 'announcer' });
      return;
    }
    this.#directory.putSession(own, session);
    this.#send((seq) => ({ t: 'session', seq, session }), session);
  }

  removeSession(id: string): void {
    const claim = this.#directory.own.claims.get(id);
    if (claim === undefined) return;
    for (const tunnelId of claim.tunnels.keys()) this.#sessionOf.delete(tunnelId);
    this.#directory.removeSession(this.#directory.own, id);
    this.#send((seq) => ({ t: 'no_session', seq, id }), null);
  }

  putTunnel(tunnel: AnnouncedTunnel): void {
    const { own } = this.#directory;
    const claim = own.claims.get(tunnel.sessionId);
    const isNew = claim?.tunnels.has(tunnel.id) !== true;
    if (isNew && own.tunnelCount >= MAX_ANNOUNCED_TUNNELS) {
      reportBug(new Error(`a node announces at most ${MAX_ANNOUNCED_TUNNELS} tunnels`), { part: 'announcer' });
      return;
    }
    if (claim === undefined || !this.#directory.putTunnel(own, tunnel)) {
      reportBug(new Error('a tunnel was announced before its session'), { part: 'announcer', tunnel: tunnel.id });
      return;
    }
    this.#sessionOf.set(tunnel.id, tunnel.sessionId);
    this.#send((seq) => ({ t: 'tunnel', seq, tunnel }), claim.session);
  }

  removeTunnel(id: string): void {
    const { own } = this.#directory;
    const sessionId = this.#sessionOf.get(id);
    if (sessionId === undefined) return;
    this.#sessionOf.delete(id);
    this.#directory.removeTunnel(own, sessionId, id);
    this.#send((seq) => ({ t: 'no_tunnel', seq, id, sessionId }), null);
  }

  #follow(follower: FeedFollower): void {
    const feed = new FollowerFeed(follower, this.#directory.own, this.#seq);
    this.#followers.add(feed);
    follower.onGone(() => {
      feed.stop();
      this.#followers.delete(feed);
    });
    feed.start();
  }

  #send(lineOf: (seq: number) => FeedLine, session: AnnouncedSession | null): void {
    this.#seq += 1;
    if (this.#followers.size === 0) return;
    const line = JSON.stringify(lineOf(this.#seq));
    for (const follower of this.#followers) follower.change(line, session);
  }
}
