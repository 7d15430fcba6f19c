import { isUnsendable, unsendable } from './unsendable.ts';
import type { UpstreamExchange, UpstreamFailure, UpstreamHandler, UpstreamRequest } from './upstream.ts';

/** A request that waits for a connection, and then represents the exchange on it. */
export class PendingExchange implements UpstreamExchange {
  readonly request: UpstreamRequest;
  readonly handler: UpstreamHandler;
  /** It was already refused unprocessed on one connection; a second refusal is final. */
  readonly isRetry: boolean;
  /** Called once when it has stopped waiting, for any reason. */
  onSettled: (() => void) | null = null;
  cancelDial: (() => void) | null = null;
  #actual: UpstreamExchange | null = null;
  #isOver = false;

  constructor(request: UpstreamRequest, handler: UpstreamHandler, isRetry: boolean) {
    this.request = request;
    this.handler = handler;
    this.isRetry = isRetry;
    // Other listeners may already have set the source flowing: nothing may be lost before it is sent.
    if (request.body.framing !== 'none') request.body.source.pause();
  }

  /** Returns false when it has to keep waiting. */
  sendThrough(send: (pending: this) => UpstreamExchange | null): boolean {
    if (this.#isOver) return true;
    try {
      this.#actual = send(this);
    } catch (error) {
      // The caller has returned long ago: this runs in a listener of the new connection.
      if (isUnsendable(error)) this.fail(unsendable(error));
      else {
        this.#settle();
        this.handler.onBug(error);
      }
      return true;
    }
    if (this.#actual === null) return false;
    this.#settle();
    return true;
  }

  fail(failure: UpstreamFailure): void {
    if (this.#isOver) return;
    this.#settle();
    this.handler.onFailure(failure);
  }

  get heldBytes(): number {
    return this.#actual?.heldBytes ?? 0;
  }

  resume(): void {
    this.#actual?.resume();
  }

  abort(): void {
    if (this.#actual !== null) this.#actual.abort();
    else if (!this.#isOver) {
      this.cancelDial?.();
      this.#settle();
    }
  }

  #settle(): void {
    this.#isOver = true;
    this.cancelDial = null;
    this.onSettled?.();
    this.onSettled = null;
  }
}
