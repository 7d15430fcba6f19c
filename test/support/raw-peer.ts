import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { RawHttp2 } from './raw-http2.ts';

/** One end of a connection of either protocol, which sends anything and records what it receives. */
export class RawPeer {
  readonly socket: Duplex;
  readonly http2: RawHttp2 | null;
  /** Everything received, one character per byte; HTTP/1.1 only. */
  received = '';
  /** The peer has closed its side: cleanly (`hasFin`), or in any way. */
  hasFin = false;
  isClosed = false;
  readonly #transport: Socket;
  readonly #waiting = new Set<() => void>();

  /** `transport` is the TCP connection under `socket`. */
  constructor(socket: Duplex, transport: Socket, http2: 'client' | 'server' | null) {
    this.socket = socket;
    this.#transport = transport;
    transport.on('error', () => {});
    socket.on('error', () => {});
    this.http2 = http2 === null ? null : new RawHttp2(socket, http2);
    socket.on('data', (chunk: Buffer) => {
      if (http2 === null) this.received += chunk.toString('latin1');
      this.#wake();
    });
    socket.on('end', () => {
      this.hasFin = true;
      this.#wake();
    });
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  send(...parts: readonly (Buffer | string)[]): void {
    const bytes = parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part));
    if (this.socket.writable) this.socket.write(Buffer.concat(bytes));
  }

  fin(): void {
    this.socket.end();
  }

  /** A TCP RST. */
  reset(): void {
    if (!this.#transport.destroyed) this.#transport.resetAndDestroy();
  }

  destroy(): void {
    this.socket.destroy();
    this.#transport.destroy();
  }

  /** Resolves when `check` holds, which is called whenever data has arrived. */
  async until(check: (peer: this) => boolean, what: string, timeoutMs = 30_000): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if (check(this)) resolve();
    };
    const timer = setTimeout(() => reject(new Error(`it never came to this: ${what}; ${this.describe()}`)), timeoutMs);
    this.#waiting.add(look);
    look();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(look);
    }
  }

  describe(): string {
    const frames = this.http2?.frames.map(({ type, flags, stream }) => `${type}/${flags}@${stream}`).join(' ');
    return JSON.stringify({ received: this.received, frames, hasFin: this.hasFin, isClosed: this.isClosed });
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
}
