import type { ClientHttp2Stream } from 'node:http2';
import { reportBug } from '../../lib/bug-report.ts';
import { guarded, ignoreErrors, type ListenerOwner, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import { cancelStream } from '../../lib/http2/reset.ts';
import type { OutgoingLink } from './outgoing-link.ts';
import { type FeedHandler, type FollowedFeed, MAX_LINE_BYTES } from './peer-links.ts';
import { FEED_PATH, NODE_AUTHORITY } from './peer-protocol.ts';

const LF = 0x0a;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1_000;
/** A feed that lived this long works: the next attempt to open it may follow soon. */
const STABLE_MS = 5_000;

export interface FollowedFeedParts {
  readonly name: string;
  readonly link: OutgoingLink;
  open(nodeId: string, feed: FollowedFeed): FeedHandler;
  onProblem(reason: string): void;
}

/**
 * One feed of another node, for as long as the link is up. *Open* (lines arrive) ↔ *waiting* (the feed ended, or was
 * restarted) until *closed*.
 */
export class LinkFeed implements FollowedFeed, ListenerOwner {
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
