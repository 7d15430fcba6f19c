import { RepeatedWarnings } from '../../lib/repeated-warnings.ts';
import { LinkFeed } from './followed-feed.ts';
import type { OutgoingLink } from './outgoing-link.ts';
import type { FeedHandler, FollowedFeed } from './peer-links.ts';

export type OpenFeed = (nodeId: string, feed: FollowedFeed) => FeedHandler;

/** Feeds that this node follows, on all links. */
export class LinkFeeds {
  readonly #log: RepeatedWarnings;
  readonly #followed = new Map<string, OpenFeed>();
  readonly #open = new Map<OutgoingLink, LinkFeed[]>();

  constructor(log: { warn(fields: object, message: string): void }) {
    this.#log = new RepeatedWarnings(log, 'opening a feed of a node again');
  }

  follow(name: string, open: OpenFeed): void {
    if (this.#followed.has(name)) throw new Error(`the feed ${name} is followed already`);
    this.#followed.set(name, open);
    for (const [link, feeds] of this.#open) feeds.push(this.#feed(link, name, open));
  }

  linkUp(link: OutgoingLink): void {
    const feeds: LinkFeed[] = [];
    this.#open.set(link, feeds);
    for (const [name, open] of this.#followed) feeds.push(this.#feed(link, name, open));
  }

  linkDown(link: OutgoingLink): void {
    const feeds = this.#open.get(link) ?? [];
    this.#open.delete(link);
    for (const feed of feeds) feed.linkDown();
  }

  #feed(link: OutgoingLink, name: string, open: OpenFeed): LinkFeed {
    const onProblem = (why: string): void =>
      this.#log.warn({ peer: link.nodeName, peer_id: link.nodeId, feed: name, why }, `${link.nodeId} ${name} ${why}`);
    return new LinkFeed({ name, link, open, onProblem });
  }
}
