import type { EventEmitter } from 'node:events';
import { type ListenerOwner, listen } from '../../lib/guarded-listeners.ts';
import type { HandoverMessage } from './messages.ts';

/** A child process, or this process towards its parent. */
export interface ChannelEnd extends EventEmitter {
  send?(message: HandoverMessage, callback: (error: Error | null) => void): boolean;
}

type Named<Name extends HandoverMessage['t']> = Extract<HandoverMessage, { readonly t: Name }>;

/** Each name comes once or twice. The program may be another one than it should be. */
const MAX_WAITING = 64;

/** Messages in order, kept until somebody asks for them. */
export class Channel {
  readonly #end: ChannelEnd;
  readonly #received: HandoverMessage[] = [];
  readonly #closed = Promise.withResolvers<void>();
  #arrived = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(end: ChannelEnd, owner: ListenerOwner) {
    this.#end = end;
    listen(end, 'message', owner, (message: unknown) => {
      if (!isMessage(message) || this.#received.length >= MAX_WAITING) return;
      this.#received.push(message);
      const arrived = this.#arrived;
      // Replaced here: every waiter of the old one looks, and none can miss the next message.
      this.#arrived = Promise.withResolvers<void>();
      arrived.resolve();
    });
    for (const event of ['disconnect', 'exit', 'error']) listen(end, event, owner, () => this.#close());
  }

  /** Resolves when the other process is gone, or has closed its end. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  send(message: HandoverMessage): void {
    // A failed send means that the other process is gone, which `closed` reports.
    if (!this.#isClosed) this.#end.send?.(message, () => {});
  }

  /** The next message with this name; null when the other process is gone first. */
  async next<Name extends HandoverMessage['t']>(...names: readonly Name[]): Promise<Named<Name> | null> {
    for (;;) {
      const at = this.#received.findIndex(({ t }) => (names as readonly string[]).includes(t));
      const found = this.#received[at];
      // The last word, for everybody who waits.
      if (found !== undefined && found.t !== 'failed') this.#received.splice(at, 1);
      if (found !== undefined) return found as Named<Name>;
      if (this.#isClosed) return null;
      await Promise.race([this.#arrived.promise, this.closed]);
    }
  }

  #close(): void {
    this.#isClosed = true;
    this.#closed.resolve();
  }
}

function isMessage(value: unknown): value is HandoverMessage {
  return typeof value === 'object' && value !== null && 't' in value && typeof value.t === 'string';
}
