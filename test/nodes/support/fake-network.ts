import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PeerLink, PeerLinks } from '../../../src/tunnel/nodes/links/peer-links.ts';

type Links = Pick<PeerLinks, 'get' | 'onUp' | 'onDown' | 'serveFeed' | 'followFeeds'>;
type OnFollower = Parameters<PeerLinks['serveFeed']>[1];
type OpenFeed = Parameters<PeerLinks['followFeeds']>[1];

interface Feed {
  readonly from: string;
  readonly to: string;
  readonly lines: string[];
  isOpen: boolean;
  hasRoom: boolean;
  deliver(line: string): void;
  end(): void;
  room(): void;
}

/** Feeds between nodes in memory. Lines wait until the test delivers, loses or changes them. */
export class FakeNetwork {
  readonly #nodes = new Map<string, FakeLinks>();
  readonly #feeds = new Set<Feed>();
  /** New feeds have no room for their snapshot until `settle`. */
  opensFull = false;

  join(nodeId: string): FakeLinks {
    const links = new FakeLinks(nodeId);
    this.#nodes.set(nodeId, links);
    return links;
  }

  /** Both directions, with a feed each. */
  link(a: string, b: string): void {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      if (this.linksOf(to).get(from) !== undefined) continue;
      this.linksOf(to).up(from);
      this.open(from, to);
    }
  }

  unlink(a: string, b: string): void {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      this.linksOf(to).down(from);
      this.cut(from, to);
    }
  }

  /** Opens the feed again if it was closed. */
  open(from: string, to: string): void {
    if (this.linksOf(to).get(from) === undefined || this.feed(from, to) !== undefined) return;
    const serve = this.linksOf(from).onFollower;
    const follow = this.linksOf(to).openFeed;
    if (serve === null || follow === null) return;
    const gone: (() => void)[] = [];
    const rooms: (() => void)[] = [];
    const feed: Feed = {
      ...{ from, to, lines: [], isOpen: true, hasRoom: !this.opensFull },
      deliver: (line) => handler.onLine(line),
      room: () => {
        feed.hasRoom = true;
        for (const listener of rooms) listener();
      },
      end: () => {
        if (!feed.isOpen) return;
        feed.isOpen = false;
        this.#feeds.delete(feed);
        handler.onEnd();
        for (const listener of gone) listener();
      },
    };
    const handler = follow(from, { close: () => feed.end() });
    this.#feeds.add(feed);
    serve({
      nodeId: to,
      send: (line) => {
        if (feed.isOpen) feed.lines.push(line);
        return feed.isOpen;
      },
      get hasRoom() {
        return feed.hasRoom;
      },
      onRoom: (listener) => rooms.push(listener),
      onGone: (listener) => gone.push(listener),
    });
  }

  cut(from: string, to: string): void {
    this.feed(from, to)?.end();
  }

  feed(from: string, to: string): Feed | undefined {
    return [...this.#feeds].find((feed) => feed.from === from && feed.to === to);
  }

  /** Delivers up to `count` lines of a feed. */
  deliver(from: string, to: string, count = Number.POSITIVE_INFINITY): void {
    const feed = this.feed(from, to);
    for (let left = count; left > 0 && feed?.isOpen === true && feed.lines.length > 0; left -= 1) {
      feed.deliver(feed.lines.shift() as string);
    }
  }

  /** Opens every feed between linked nodes and delivers everything. A snapshot may take several turns. */
  async settle(): Promise<void> {
    this.opensFull = false;
    for (const feed of this.#feeds) if (!feed.hasRoom) feed.room();
    for (let idle = 0; idle < 2; idle += 1) {
      for (const to of this.#nodes.keys()) for (const from of this.#nodes.keys()) this.open(from, to);
      const waiting = [...this.#feeds].filter(({ lines }) => lines.length > 0);
      if (waiting.length > 0) idle = 0;
      for (const { from, to } of waiting) this.deliver(from, to);
      await nextTurn();
    }
  }

  linksOf(nodeId: string): FakeLinks {
    const links = this.#nodes.get(nodeId);
    if (links === undefined) throw new Error(`no node ${nodeId}`);
    return links;
  }
}

class FakeLinks implements Links {
  readonly nodeId: string;
  onFollower: OnFollower | null = null;
  openFeed: OpenFeed | null = null;
  readonly #links = new Map<string, PeerLink>();
  readonly #ups = new Set<(link: PeerLink) => void>();
  readonly #downs = new Set<(link: PeerLink) => void>();

  constructor(nodeId: string) {
    this.nodeId = nodeId;
  }

  get(nodeId: string): PeerLink | undefined {
    return this.#links.get(nodeId);
  }

  onUp(listener: (link: PeerLink) => void): () => void {
    this.#ups.add(listener);
    return () => this.#ups.delete(listener);
  }

  onDown(listener: (link: PeerLink) => void): () => void {
    this.#downs.add(listener);
    return () => this.#downs.delete(listener);
  }

  serveFeed(_name: string, onFollower: OnFollower): void {
    this.onFollower = onFollower;
  }

  followFeeds(_name: string, open: OpenFeed): void {
    this.openFeed = open;
  }

  up(nodeId: string): void {
    const link = fakeLink(nodeId);
    this.#links.set(nodeId, link);
    for (const listener of this.#ups) listener(link);
  }

  down(nodeId: string): void {
    const link = this.#links.get(nodeId);
    if (link === undefined) return;
    this.#links.delete(nodeId);
    for (const listener of this.#downs) listener(link);
  }
}

/** Carries nothing: tests of the directory only ask which link they got. */
export function fakeLink(nodeId: string): PeerLink & { active: number; hasRoom: boolean } {
  const unused = (): never => {
    throw new Error('no stream is expected');
  };
  return {
    ...{ relay: 'node', nodeId, nodeName: nodeId, hasRoom: true, active: 0, heardAtMs: 0, isDoubted: false },
    ...{ request: unused, reset: unused, release: unused, retire: unused },
  };
}
