import { EventEmitter } from 'node:events';
import type { BodySource } from '../../upstream/upstream.ts';

/**
 * The body of a gateway's request, for `BodySender`: `data`, then `end`, or `close` when it is cut off. It starts paused, and holds what
 * arrives meanwhile; the window of the stream bounds that.
 */
export class ServedBody extends EventEmitter implements BodySource {
  readableEnded = false;
  destroyed = false;
  /** Asks the stream for more data. */
  readonly #readMore: () => void;
  #isFlowing = false;
  #held: Buffer[] = [];
  /** END_STREAM has arrived. Data may be held. */
  #isWhole = false;

  constructor(readMore: () => void) {
    super();
    this.#readMore = readMore;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  pause(): void {
    this.#isFlowing = false;
  }

  resume(): void {
    if (this.#isFlowing) return;
    this.#isFlowing = true;
    while (this.#isFlowing) {
      const chunk = this.#held.shift();
      if (chunk === undefined) break;
      this.emit('data', chunk);
    }
    if (!this.#isFlowing) return;
    if (this.#isWhole) this.#end();
    else if (!this.destroyed) this.#readMore();
  }

  /** False: no more until it asks. */
  add(chunk: Buffer): boolean {
    if (this.#isFlowing) this.emit('data', chunk);
    else this.#held.push(chunk);
    return this.#isFlowing;
  }

  /** No more data follows. */
  whole(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    if (this.#isFlowing) this.#end();
  }

  /** The stream has closed. */
  closed(): void {
    this.destroyed = true;
    this.#held = [];
    this.emit('close');
  }

  /** Nobody reads it any longer. */
  drop(): void {
    this.#isFlowing = true;
    this.#held = [];
    if (!this.destroyed) this.#readMore();
  }

  #end(): void {
    if (this.readableEnded) return;
    this.readableEnded = true;
    this.emit('end');
  }
}
