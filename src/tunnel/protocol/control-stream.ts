import type { Duplex } from 'node:stream';
import { type ListenerOwner, listen, listenOnce } from '../../kit/guarded-listeners.ts';
import { MAX_MESSAGE_BYTES, MESSAGE_BURST, MESSAGE_UNIT_BYTES, MESSAGES_PER_SECOND } from './protocol.ts';

export interface ControlHandler extends ListenerOwner {
  onLine(line: string): void;
  /** The peer violated the protocol: the connection must be closed. */
  onProblem(reason: string): void;
  /** No more messages will arrive. */
  onEnd(): void;
}

const LF = 0x0a;
/** A peer that does not read is not waited for: at most this many bytes are buffered. */
const MAX_UNSENT_BYTES = 1_048_576;

/** Lines of JSON both ways, bounded in length and rate: a peer that sends more is not an agent, or is broken. */
export class ControlStream {
  readonly #stream: Duplex;
  readonly #handler: ControlHandler;
  #parts: Buffer[] = [];
  #bytes = 0;
  #isOver = false;
  /** A leaky bucket. */
  #messages = 0;
  #countedAtMs = performance.now();

  constructor(stream: Duplex, handler: ControlHandler) {
    this.#stream = stream;
    this.#handler = handler;
    listen(stream, 'data', handler, (chunk: Buffer) => this.#read(chunk));
    listen(stream, 'error', handler, () => this.#end());
    listenOnce(stream, 'end', handler, () => this.#end());
    listenOnce(stream, 'close', handler, () => this.#end());
  }

  send(message: { readonly t: string }): void {
    if (this.#isOver || !this.#stream.writable) return;
    if (this.#stream.writableLength > MAX_UNSENT_BYTES) {
      this.#problem('the peer does not read its control messages');
      return;
    }
    this.#stream.write(`${JSON.stringify(message)}\n`);
  }

  close(): void {
    this.#isOver = true;
    this.#stream.end();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    while (!this.#isOver && rest.length > 0) {
      const at = rest.indexOf(LF);
      const part = at === -1 ? rest : rest.subarray(0, at);
      this.#bytes += part.length;
      if (this.#bytes >= MAX_MESSAGE_BYTES) {
        this.#problem(`a control message has more than ${MAX_MESSAGE_BYTES} bytes`);
        return;
      }
      this.#parts.push(part);
      if (at === -1) return;
      rest = rest.subarray(at + 1);
      this.#line();
    }
  }

  #line(): void {
    const line = Buffer.concat(this.#parts).toString('utf8');
    const weight = 1 + Math.floor(this.#bytes / MESSAGE_UNIT_BYTES);
    this.#parts = [];
    this.#bytes = 0;
    const now = performance.now();
    const leaked = ((now - this.#countedAtMs) / 1000) * MESSAGES_PER_SECOND;
    this.#messages = Math.max(0, this.#messages - leaked) + weight;
    this.#countedAtMs = now;
    if (this.#messages > MESSAGE_BURST) this.#problem('too many control messages');
    else this.#handler.onLine(line);
  }

  #problem(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onProblem(reason);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onEnd();
  }
}
