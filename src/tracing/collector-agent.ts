import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { closing, guarded, ignoreErrors, listen, listenOnce } from '../lib/guarded-listeners.ts';
import { Agent as HttpAgent } from '../lib/http/node-http.ts';

/** From the lookup of the name to the end of the response. */
const MAX_MS = 10_000;
/** A collector answers with a few bytes (OTLP, "partial success"). */
const MAX_BYTES = 65_536;

/**
 * One connection per batch, with limits that the SDK lacks: its time limit begins with the connection and ends with any byte, and
 * it parses responses of 4 MiB.
 */
export function collectorAgent(protocol: string, maxMs = MAX_MS): Agent {
  const agent = protocol === 'https:' ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options) => new CollectorConnection(connect(options) as Socket, maxMs);
  return agent;
}

/**
 * The HTTP client of the runtime adds properties of its own to the stream that it gets. Added to a socket, they make one more shape of
 * sockets than compiled code distinguishes, and from the first batch on every read and write of every socket costs more.
 */
class CollectorConnection extends Duplex {
  readonly #socket: Socket;
  readonly #owner = closing(this, 'collector');
  readonly #timer: NodeJS.Timeout;
  #answerTimer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, maxMs: number) {
    super();
    this.#socket = socket;
    this.#timer = setTimeout(() => this.destroy(new Error('the collector took too long')), maxMs).unref();
    const owner = this.#owner;
    let bytes = 0;
    listen(socket, 'data', owner, (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) this.destroy(new Error('the collector sent too long a response'));
      else this.push(chunk);
    });
    listenOnce(socket, 'end', owner, () => this.push(null));
    listenOnce(socket, 'error', owner, (error: Error) => this.destroy(error));
    // Its end is read first.
    listenOnce(socket, 'close', owner, () => setImmediate(() => this.destroy()));
  }

  /** The limit of bytes makes back-pressure unnecessary. */
  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#answerTimer);
    ignoreErrors(this.#socket).destroy();
    done(error);
  }

  /** Called by the HTTP client, as the next one. A time limit adds a property to a socket, too, so it is kept here. */
  setTimeout(ms: number): this {
    clearTimeout(this.#answerTimer);
    const tell = guarded(this.#owner, () => this.emit('timeout'));
    if (ms > 0) this.#answerTimer = setTimeout(tell, ms).unref();
    return this;
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }
}
