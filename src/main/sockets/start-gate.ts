import type { Socket } from 'node:net';
import { ignoreErrors } from '../../lib/guarded-listeners.ts';

/** As many as a listening socket queues for a slow program, and more than come within seconds. */
const MAX_WAITING = 4_096;

/**
 * Connections of visitors that come while this node does not know yet what the others serve. They wait: without it, the
 * edge would say that there is no such site.
 */
export class StartGate {
  readonly #waiting = new Map<Socket, () => void>();
  #isOpen = false;

  pass(socket: Socket, enter: () => void): void {
    if (this.#isOpen) {
      enter();
      return;
    }
    ignoreErrors(socket);
    if (this.#waiting.size < MAX_WAITING) this.#waiting.set(socket, enter);
    else socket.destroy();
  }

  open(): void {
    this.#isOpen = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [socket, enter] of waiting) if (!socket.destroyed) enter();
  }

  /** The server stops before it has started. */
  close(): void {
    for (const socket of this.#waiting.keys()) socket.destroy();
    this.open();
  }
}
