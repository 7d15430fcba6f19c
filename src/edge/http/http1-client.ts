import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { reportBug } from '../../lib/bug-report.ts';
import type { ListenerOwner } from '../../lib/guarded-listeners.ts';
import type { ConnectionFacts } from '../connection-facts.ts';
import { Http1ResponseWriter } from './http1-response-writer.ts';
import { NOT_TAKEN, problemOf, type RequestProblem } from './request-problem.ts';
import { Stall } from './stall.ts';
import type { SweepLimits } from './sweep.ts';

/** A client's connection over HTTP/1.1. */
export class Http1Client implements ListenerOwner {
  readonly facts: ConnectionFacts;
  /** No request after the current one may be read from it. */
  isOver = false;
  readonly #socket: Socket;
  readonly #stall = new Stall();
  /** Writer of the latest request's response. */
  #writer: Http1ResponseWriter | null = null;

  constructor(socket: Socket, facts: Omit<ConnectionFacts, 'retire'>) {
    this.#socket = socket;
    this.facts = { ...facts, retire: () => {} };
  }

  /** A bug outside of every request, or after one. */
  contain(error: unknown): void {
    this.isOver = true;
    reportBug(error, { part: 'HTTP/1.1 client', remote_address: this.facts.remoteAddress });
    this.#socket.destroy();
  }

  writerFor(response: ServerResponse<IncomingMessage>, drain: { readonly isDraining: boolean }): Http1ResponseWriter {
    this.#writer = new Http1ResponseWriter(response, drain, this);
    return this.#writer;
  }

  /** The runtime cannot continue reading. `refuse` responds where no request has been read. */
  onError(error: Error & { readonly code?: string }, refuse: (problem: RequestProblem) => void): void {
    // A rejected request already has its response, and the connection ends with it.
    if (this.isOver) return;
    this.isOver = true;
    const problem = problemOf(error);
    const writer = this.#writer;
    // A client that preconnects and never sends a request needs no response.
    if (problem === null || !this.#socket.writable || this.#socket.bytesRead === 0) this.#socket.destroy();
    else if (writer === null) refuse(problem);
    else if (!writer.isRequestWhole) writer.fail(problem);
    else if (!writer.isUnderWay) refuse(problem);
    else {
      // Responses to earlier requests go first: a rejection before them would be taken for one of theirs.
      writer.afterwards(() => {
        if (this.#socket.writable) refuse(problem);
      });
    }
  }

  /** Closes once its last bytes are sent. */
  endSoon(): void {
    this.#socket.destroySoon();
  }

  check(nowMs: number, { sendTimeoutMs }: SweepLimits): void {
    const { writableLength } = this.#socket;
    const taken = writableLength === 0 ? 0 : this.#socket.bytesWritten - writableLength;
    if (this.#stall.lasts(writableLength > 0, taken, nowMs) < sendTimeoutMs) return;
    this.#writer?.fail(NOT_TAKEN);
    this.#socket.destroy();
  }
}
