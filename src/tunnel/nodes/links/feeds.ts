import type { ClientHttp2Stream, ServerHttp2Stream } from 'node:http2';
import {
  closing,
  guarded,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenOnce,
  reportBug,
} from '../../../kit/guarded-listeners.ts';
import { cancelStream } from '../../../kit/http2/stream-end.ts';
import { RepeatedWarnings } from '../../../kit/repeated-warnings.ts';
import type { OutgoingLink } from './outgoing-link.ts';
import {
  FEED_PATH,
  type FeedFollower,
  type FeedHandler,
  type FollowedFeed,
  MAX_LINE_BYTES,
  MAX_UNSENT_BYTES,
  NODE_AUTHORITY,
} from './peer-links.ts';

/** Another node that reads a feed of this node. */
export class Follower implements FeedFollower {
  readonly nodeId: string;
  readonly #stream: ServerHttp2Stream;
  readonly #onGone: (() => void)[] = [];
  #isGone = false;

  constructor(stream: ServerHttp2Stream, nodeId: string) {
    this.nodeId = nodeId;
    this.#stream = stream;
    listenOnce(stream, 'close', closing(stream, 'peer feed'), () => this.#gone());
    stream.respond([':status', '200']);
    stream.resume();
  }

  get hasRoom(): boolean {
    return !this.#stream.writableNeedDrain;
  }

  send(line: string): boolean {
    if (this.#isGone || !this.#stream.writable) return false;
    if (Buffer.byteLength(line) > MAX_LINE_BYTES)
      throw new RangeError(`a line of a feed has ${line.length} characters`);
    if (this.#stream.writableLength > MAX_UNSENT_BYTES) {
      this.close();
      return false;
    }
    this.#stream.write(`${line}\n`);
    return true;
  }

  onRoom(listener: () => void): void {
    listen(this.#stream, 'drain', closing(this.#stream, 'peer feed'), listener);
  }

  close(): void {
    cancelStream(this.#stream);
    this.#gone();
  }

  onGone(listener: () => void): void {
    if (this.#isGone) listener();
    else this.#onGone.push(listener);
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const listener of this.#onGone) listener();
  }
}

/** Feeds that this node offers. */
export class ServedFeeds {
  readonly #feeds = new Map<string, (follower: FeedFollower) => void>();

  add(name: string, onFollower: (follower: FeedFollower) => void): void {
    if (this.#feeds.has(name)) throw new Error(`the feed ${name} is served already`);
    this.#feeds.set(name, onFollower);
  }

  /** Null: there is no such feed. */
  open(stream: ServerHttp2Stream, name: string, fromNodeId: string): Follower | null {
    const onFollower = this.#feeds.get(name);
    if (onFollower === undefined) return null;
    const follower = new Follower(stream, fromNodeId);
    onFollower(follower);
    return follower;
  }
}

const LF = 0x0a;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1_000;
/** A feed that lived this long works: the next attempt to open it may follow soon. */
const STABLE_MS = 5_000;

interface FollowedFeedParts {
  readonly name: string;
  readonly link: OutgoingLink;
  open(nodeId: string, feed: FollowedFeed): FeedHandler;
  onProblem(reason: string): void;
}

/**
 * One feed of another node, for as long as the link is up. *Open* (lines arrive) ↔ *waiting* (the feed ended, or was
 * restarted) until *closed*.
 */
class LinkFeed implements FollowedFeed, ListenerOwner {
  readonly #parts: FollowedFeedParts;
  #stream: ClientHttp2Stream | null = null;
  #handler: FeedHandler | null = null;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #delayMs = FIRST_DELAY_MS;
  #openedAtMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: FollowedFeedParts) {
    this.#parts = parts;
    this.#open();
  }

  /** The reader says that the feed's lines are wrong. */
  close(): void {
    this.#problem('its lines are wrong');
  }

  linkDown(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#end();
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'peer feed', feed: this.#parts.name });
    this.#end();
  }

  #open(): void {
    const { link, name } = this.#parts;
    const path = `${FEED_PATH}${name}`;
    const head = [':method', 'GET', ':scheme', 'https', ':authority', NODE_AUTHORITY, ':path', path];
    let stream: ClientHttp2Stream;
    try {
      stream = link.request(head, { endStream: true, waitForTrailers: false });
    } catch {
      // The session has just ended, and the link reports the end.
      return;
    }
    this.#stream = stream;
    this.#openedAtMs = performance.now();
    ignoreErrors(stream);
    listenOnce(stream, 'close', this, () => link.release(stream));
    listenOnce(stream, 'close', this, () => {
      if (this.#stream === stream) this.#end();
    });
    listenOnce(stream, 'response', this, (headers: Readonly<Record<string, unknown>>) => {
      if (headers[':status'] === 200) this.#handler = this.#parts.open(link.nodeId, this);
      else cancelStream(stream);
    });
    listen(stream, 'data', this, (chunk: Buffer) => {
      if (this.#stream === stream) this.#read(chunk);
    });
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    while (this.#handler !== null && rest.length > 0) {
      const at = rest.indexOf(LF);
      const piece = at === -1 ? rest : rest.subarray(0, at);
      this.#bytes += piece.length;
      if (this.#bytes > MAX_LINE_BYTES) {
        this.#problem(`a line has more than ${MAX_LINE_BYTES} bytes`);
        return;
      }
      this.#pieces.push(piece);
      if (at === -1) return;
      rest = rest.subarray(at + 1);
      const line = Buffer.concat(this.#pieces).toString('utf8');
      this.#pieces = [];
      this.#bytes = 0;
      this.#handler.onLine(line);
    }
  }

  #problem(reason: string): void {
    if (this.#stream === null) return;
    this.#parts.onProblem(reason);
    this.#end();
  }

  #end(): void {
    const stream = this.#stream;
    const handler = this.#handler;
    this.#stream = null;
    this.#handler = null;
    this.#pieces = [];
    this.#bytes = 0;
    if (stream !== null) {
      cancelStream(stream);
      stream.resume();
    }
    if (!this.#isClosed && this.#timer === null) this.#openLater();
    handler?.onEnd();
  }

  #openLater(): void {
    if (performance.now() - this.#openedAtMs >= STABLE_MS) this.#delayMs = FIRST_DELAY_MS;
    const again = guarded(this, () => {
      this.#timer = null;
      this.#open();
    });
    this.#timer = setTimeout(again, this.#delayMs).unref();
    this.#delayMs = Math.min(2 * this.#delayMs, LONGEST_DELAY_MS);
  }
}

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
