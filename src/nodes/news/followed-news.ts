import type { FeedHandler, FollowedFeed } from '../links/peer-links.ts';
import { type News, type NewsSeal, newsLine, openNews } from './news.ts';

export interface FollowedNewsPorts {
  readonly seal: NewsSeal;
  readonly monotonicMs: () => number;
  /** Everything up to this revision is known here. */
  readonly revision: () => number;
  heard(nodeId: string, news: News): void;
  /** The node knows later revisions than this node. */
  behind(nodeId: string): void;
}

/** The news of one other node, as long as the link to that node is up. */
export class FollowedNews implements FeedHandler {
  readonly nodeId: string;
  readonly #feed: FollowedFeed;
  readonly #ports: FollowedNewsPorts;
  readonly #onEnd: () => void;
  /** The node's revision when the feed began; infinite until the node has told it. */
  #from = Number.POSITIVE_INFINITY;
  #heardAtMs = Number.NEGATIVE_INFINITY;

  constructor(nodeId: string, feed: FollowedFeed, ports: FollowedNewsPorts, onEnd: () => void) {
    this.nodeId = nodeId;
    this.#feed = feed;
    this.#ports = ports;
    this.#onEnd = onEnd;
  }

  /** This node knows everything that the other node committed until about this time. */
  get knownAtMs(): number {
    return this.#ports.revision() >= this.#from ? this.#heardAtMs : Number.NEGATIVE_INFINITY;
  }

  onLine(text: string): void {
    try {
      this.#read(JSON.parse(text));
    } catch {
      // The content is secret, so no detail is reported. The feed reports that its lines are wrong.
      this.#feed.close();
    }
  }

  onEnd(): void {
    this.#onEnd();
  }

  #read(line: unknown): void {
    if (!newsLine.Check(line)) throw new Error('a malformed line');
    const { revision, sealed } = line;
    this.#heardAtMs = this.#ports.monotonicMs();
    if (revision !== undefined) {
      this.#from = revision;
      if (revision > this.#ports.revision()) this.#ports.behind(this.nodeId);
    }
    if (sealed !== undefined) this.#ports.heard(this.nodeId, openNews(this.#ports.seal, sealed));
  }
}
