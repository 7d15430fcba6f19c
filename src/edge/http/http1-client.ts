import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { reportBug } from '../../lib/bug-report.ts';
import type { ListenerOwner } from '../../lib/guarded-listeners.ts';
import type { ConnectionFacts } from '../edge-connection.ts';
import { Http1Port } from './http1-port.ts';
import { NOT_TAKEN, problemOf, type RequestProblem } from './request-problem.ts';
import { Stall } from './stall.ts';
import type { SweepLimits } from './sweep.ts';

/** A client's connection over HTTP/1.1. */
export class Http1Client implements ListenerOwner {
  readonly facts: ConnectionFacts;
  /** No request after the one at hand may be read from it. */
  isOver = false;
  readonly #socket: Socket;
  readonly #stall = new Stall();
  /** Of the latest request. */
  #port: Http1Port | null = null;

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

  portFor(response: ServerResponse<IncomingMessage>, drain: { readonly isDraining: boolean }): Http1Port {
    this.#port = new Http1Port(response, drain, this);
    return this.#port;
  }

  /** The runtime cannot go on reading. `refuse` answers where no request has been read. */
  onError(error: Error & { readonly code?: string }, refuse: (problem: RequestProblem) => void): void {
    // One whose request was refused has its answer, and ends with it.
    if (this.isOver) return;
    this.isOver = true;
    const problem = problemOf(error);
    const port = this.#port;
    // A client that connects ahead of its needs and never asks has done nothing that needs an answer.
    if (problem === null || !this.#socket.writable || this.#socket.bytesRead === 0) this.#socket.destroy();
    else if (port === null) refuse(problem);
    else if (!port.isRequestWhole) port.fail(problem);
    else if (!port.isUnderWay) refuse(problem);
    else {
      // The answers to what came before go out first: a refusal in front of them would be taken for one of theirs.
      port.afterwards(() => {
        if (this.#socket.writable) refuse(problem);
      });
    }
  }

  /** When its last bytes are out. */
  endSoon(): void {
    this.#socket.destroySoon();
  }

  check(nowMs: number, { sendTimeoutMs }: SweepLimits): void {
    const { writableLength } = this.#socket;
    const taken = writableLength === 0 ? 0 : this.#socket.bytesWritten - writableLength;
    if (this.#stall.lasts(writableLength > 0, taken, nowMs) < sendTimeoutMs) return;
    this.#port?.fail(NOT_TAKEN);
    this.#socket.destroy();
  }
}
