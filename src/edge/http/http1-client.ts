import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { reportBug } from '../../lib/bug-report.ts';
import { ignoreErrors, type ListenerOwner, listen } from '../../lib/guarded-listeners.ts';
import { Http1Pipeline, type Http1PipelineOptions } from '../../lib/http/http1-pipeline.ts';
import type { ConnectionFacts } from '../connection-facts.ts';
import { Http1ResponseWriter } from './http1-response-writer.ts';
import { NOT_TAKEN, problemOf, type RequestProblem, TOO_SLOW } from './request-problem.ts';
import { Stall } from './stall.ts';
import type { SweepLimits } from './sweep.ts';

/** A client's connection over HTTP/1.1. */
export class Http1Client implements ListenerOwner {
  readonly facts: ConnectionFacts;
  readonly pipeline: Http1Pipeline;
  /** No request after those that have arrived may be read from it. */
  isOver = false;
  readonly #socket: Socket;
  readonly #stall = new Stall();
  /** Writer of the response to the latest request that is served. */
  #writer: Http1ResponseWriter | null = null;
  /** A request took too long while nothing was read: since when the client has had time for the rest of it. */
  #excusedSinceMs: number | null = null;

  constructor(socket: Socket, facts: Omit<ConnectionFacts, 'retire'>, waiting: Omit<Http1PipelineOptions, 'owner'>) {
    this.#socket = socket;
    this.pipeline = new Http1Pipeline(socket, { ...waiting, owner: this });
    this.facts = { ...facts, retire: () => {} };
  }

  /** A bug outside of every request, or after one. */
  contain(error: unknown): void {
    this.isOver = true;
    reportBug(error, { part: 'HTTP/1.1 client', remote_address: this.facts.remoteAddress });
    this.#socket.destroy();
  }

  /** The current request is the last one: bytes after it cannot be trusted. */
  endAfterCurrent(): void {
    this.isOver = true;
    this.pipeline.drop();
  }

  writerFor(response: ServerResponse<IncomingMessage>, drain: { readonly isDraining: boolean }): Http1ResponseWriter {
    this.#excusedSinceMs = null;
    this.#writer = new Http1ResponseWriter(response, drain, this);
    return this.#writer;
  }

  /** The runtime cannot continue reading. `refuse` responds where no request has been read. */
  onError(error: Error & { readonly code?: string }, refuse: (problem: RequestProblem) => void): void {
    // A rejected request already has its response, and the connection ends with it.
    if (this.isOver) return;
    const problem = problemOf(error);
    if (problem === TOO_SLOW && this.pipeline.isPaused) {
      this.#excusedSinceMs = performance.now();
      return;
    }
    this.isOver = true;
    const writer = this.#writer;
    // A client that preconnects and never sends a request needs no response.
    if (problem === null || !this.#socket.writable || this.#socket.bytesRead === 0) this.#socket.destroy();
    else if (writer?.isRequestWhole === false) writer.fail(problem);
    // Responses to earlier requests go first: a rejection before them would be taken for one of theirs.
    else this.pipeline.refuseRest(() => refuse(problem));
  }

  /** The runtime has handed over the socket with a request to switch, while an earlier response is in progress. */
  handedOver(): void {
    ignoreErrors(this.#socket);
    listen(this.#socket, 'drain', this, () => this.#writer?.drained());
  }

  /** Closes once its last bytes are sent. */
  endSoon(): void {
    this.#socket.destroySoon();
  }

  check(nowMs: number, { sendTimeoutMs, idleTimeoutMs }: SweepLimits): void {
    if (this.pipeline.isPaused && this.#excusedSinceMs !== null) this.#excusedSinceMs = nowMs;
    if (this.#excusedSinceMs !== null && nowMs - this.#excusedSinceMs >= idleTimeoutMs) this.#socket.destroy();
    const { writableLength } = this.#socket;
    const taken = writableLength === 0 ? 0 : this.#socket.bytesWritten - writableLength;
    if (this.#stall.lasts(writableLength > 0, taken, nowMs) < sendTimeoutMs) return;
    this.#writer?.fail(NOT_TAKEN);
    this.#socket.destroy();
  }
}
