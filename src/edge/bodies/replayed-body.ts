import { Readable } from 'node:stream';
import { attach, guarded, ignoreErrors, type ListenerOwner } from '../../lib/guarded-listeners.ts';

/** A request's body whose first part was already read: that part, then the rest as it arrives and is read. */
export class ReplayedBody extends Readable {
  readonly #first: Buffer[];
  readonly #rest: Readable | null;
  readonly #owner: ListenerOwner;
  #isAtRest = false;

  /** `rest` is paused; null when all was read. */
  constructor(first: readonly Buffer[], rest: Readable | null, owner: ListenerOwner) {
    super();
    this.#first = [...first];
    this.#rest = rest;
    this.#owner = owner;
    if (rest !== null) {
      ignoreErrors(rest);
      // Even while nobody reads: a client that disconnects must be noticed.
      attach(rest, 'close', this.#onCut);
    }
  }

  override _read(): void {
    while (this.#first.length > 0) if (!this.push(this.#first.shift())) return;
    if (this.#rest === null) this.push(null);
    else if (this.#isAtRest) this.#rest.resume();
    else this.#startRest(this.#rest);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#first.length = 0;
    const rest = this.#rest;
    if (rest !== null) {
      rest.off('data', this.#onData);
      rest.off('end', this.#onEnd);
      rest.off('close', this.#onCut);
    }
    callback(error);
  }

  #startRest(rest: Readable): void {
    this.#isAtRest = true;
    attach(rest, 'data', this.#onData);
    attach(rest, 'end', this.#onEnd);
    if (rest.readableEnded) this.push(null);
    else if (rest.destroyed) this.destroy();
    else rest.resume();
  }

  readonly #contain: ListenerOwner = { contain: (error) => this.#owner.contain(error) };

  readonly #onData = guarded(this.#contain, (chunk: Buffer): void => {
    if (!this.push(chunk)) this.#rest?.pause();
  });

  readonly #onEnd = guarded(this.#contain, (): void => {
    this.push(null);
  });

  readonly #onCut = guarded(this.#contain, (): void => {
    if (!this.readableEnded && this.#rest?.readableEnded !== true) this.destroy();
  });
}
