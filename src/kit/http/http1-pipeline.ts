import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ListenerOwner, listen, listenOnce, listenPer } from '../guarded-listeners.ts';

/** Waiting requests of all connections of a server. */
interface WaitingCount {
  waiting: number;
}

interface Http1PipelineOptions {
  readonly owner: ListenerOwner;
  readonly count: WaitingCount;
}

interface Waiting {
  readonly response: ServerResponse;
  readonly start: () => void;
}

/** The runtime parses a whole read of up to 64 KiB, however many requests are in it: about 1.6 KB of memory each. */
const MAX_WAITING = 10_000;
/** With more, nothing is read: a client that disconnects is then noticed only when a response is sent to it. */
const MAX_WHILE_READING = 16;
/** A connection may have this many even if all connections together have too many. */
const MAX_OWN_WAITING = 100;

/**
 * Serves the requests of one HTTP/1.1 connection one after the other. The runtime delivers pipelined requests as soon
 * as it has parsed them. Served in parallel, an unsafe request could take effect before an earlier one (RFC 9112
 * §9.3.2), or although the response to an earlier one closes the connection.
 *
 * *Idle* → *serving* → *serving with others waiting* (with too many, nothing more is read from the socket) → … →
 * *idle*. When the connection ends, those that wait are dropped.
 */
export class Http1Pipeline {
  readonly #socket: Socket;
  readonly #options: Http1PipelineOptions;
  #current: ServerResponse | null = null;
  #waiting: Waiting[] = [];
  #isPaused = false;
  #hasListeners = false;

  constructor(socket: Socket, options: Http1PipelineOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  serve(response: ServerResponse, start: () => void): void {
    // The response to an earlier request has not been sent completely.
    if (this.#waiting.length > 0 || this.#current?.closed === false) {
      this.#wait({ response, start });
      return;
    }
    this.#current = response;
    start();
  }

  /** The connection ends with the current response. */
  #drop(): void {
    this.#options.count.waiting -= this.#waiting.length;
    this.#waiting = [];
  }

  #wait(waiting: Waiting): void {
    const { count } = this.#options;
    if (count.waiting >= MAX_WAITING && this.#waiting.length >= MAX_OWN_WAITING) {
      this.#socket.destroy();
      this.#drop();
      return;
    }
    if (this.#waiting.length === 0) this.#continueAfter(this.#current);
    this.#waiting.push(waiting);
    count.waiting += 1;
    if (this.#waiting.length > MAX_WHILE_READING) this.#pause();
  }

  #next(): void {
    if (!this.#socket.writable) this.#drop();
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#options.count.waiting -= 1;
    this.#current = next.response;
    if (this.#waiting.length === 0) this.#resume();
    else this.#continueAfter(next.response);
    next.start();
  }

  #continueAfter(response: ServerResponse | null): void {
    if (response !== null) listenOnce(response, 'close', this.#options.owner, () => this.#next());
  }

  #pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
    if (this.#hasListeners) return;
    this.#hasListeners = true;
    // The runtime resumes the socket when a response drains.
    listen(this.#socket, 'resume', this.#options.owner, () => {
      if (this.#isPaused) this.#socket.pause();
    });
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }
}

/** Serves the requests of each HTTP/1.1 connection one after the other. */
export function serveInTurn(
  server: Server,
  ownerOf: (request: IncomingMessage) => ListenerOwner,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const count = { waiting: 0 };
  const pipelines = new WeakMap<Socket, Http1Pipeline>();
  listenPer(server, 'request', ownerOf, (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = new Http1Pipeline(socket, { owner: ownerOf(request), count });
      pipelines.set(socket, pipeline);
    }
    pipeline.serve(response, () => serve(request, response));
  });
}
