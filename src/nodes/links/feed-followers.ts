import type { ServerHttp2Stream } from 'node:http2';
import { closing, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import { cancelStream } from '../../lib/http2/reset.ts';
import { type FeedFollower, MAX_LINE_BYTES, MAX_UNSENT_BYTES } from './peer-links.ts';

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
