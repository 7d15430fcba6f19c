import { reportBug } from '../../lib/bug-report.ts';
import type { FeedFollower, PeerLinks } from '../links/peer-links.ts';
import type { AnnouncedSession, AnnouncedTunnel, Announcer } from './announced.ts';
import { DIRECTORY_FEED, type FeedLine, MAX_ANNOUNCED_TUNNELS } from './feed-lines.ts';
import { FollowerFeed } from './follower-feed.ts';
import type { TunnelDirectory } from './tunnel-directory.ts';

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
