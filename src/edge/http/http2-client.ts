import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { reportBug } from '../../lib/bug-report.ts';
import type { ListenerOwner } from '../../lib/guarded-listeners.ts';
import type { ConnectionFacts } from '../connection-facts.ts';
import type { Http2Port } from './http2-response-writer.ts';
import { Stall } from './stall.ts';
import type { SweepLimits } from './sweep.ts';

/** A client's connection over HTTP/2. *Open* → *closed* (GOAWAY; streams in progress finish) → the socket ends. */
export class Http2Client implements ListenerOwner {
  readonly facts: ConnectionFacts;
  readonly session: ServerHttp2Session;
  /** A bug outside of every request, or after one: requests in progress finish, others need another connection. */
  readonly onBug: (error: unknown) => void;
  readonly #socket: Socket;
  /** A list with swap-remove: see LiveExchanges. */
  readonly #ports: Http2Port[] = [];
  #quietSinceMs = performance.now();
  /** Bytes read from streams that have ended. */
  #takenBefore = 0;
  readonly #stall = new Stall();
  #isMoving = false;
  /** When it was found closed, without streams. */
  #closedSinceMs: number | null = null;

  constructor(session: ServerHttp2Session, socket: Socket, facts: Omit<ConnectionFacts, 'retire'>) {
    this.session = session;
    this.#socket = socket;
    this.facts = { ...facts, retire: () => session.close() };
    this.onBug = (error) => {
      reportBug(error, { part: 'HTTP/2 client', remote_address: facts.remoteAddress });
      session.close();
    };
  }

  contain(error: unknown): void {
    this.onBug(error);
    this.session.destroy();
  }

  add(port: Http2Port): void {
    port.position = this.#ports.length;
    this.#ports.push(port);
  }

  delete(port: Http2Port): void {
    this.#takenBefore += port.taken;
    const last = this.#ports.pop();
    if (last !== undefined && last !== port) {
      this.#ports[port.position] = last;
      last.position = port.position;
    }
    if (this.#ports.length === 0) this.#quietSinceMs = performance.now();
  }

  /**
   * The connection's window is exhausted, and the client's updates go to some of its streams after the others: a stream
   * that gets nothing may still have a waiting reader.
   */
  get isSentToOthers(): boolean {
    return this.#isMoving && (this.session.state.remoteWindowSize ?? 0) <= 0;
  }

  /**
   * Frames other than requests (pings, a head byte by byte) do not keep a connection open, and a client that does not
   * close its side after GOAWAY does not keep the socket.
   */
  check(nowMs: number, limits: SweepLimits): void {
    let taken = this.#takenBefore;
    for (const port of this.#ports) taken += port.taken;
    this.#isMoving = this.#stall.lasts(true, taken, nowMs) < limits.sendTimeoutMs;
    for (let at = this.#ports.length - 1; at >= 0; at -= 1) this.#ports[at]?.check(nowMs, limits);
    if (this.#ports.length > 0) return;
    if (this.session.closed || this.session.destroyed) {
      // Not immediately: its last bytes may still be in flight.
      this.#closedSinceMs ??= nowMs;
      if (nowMs - this.#closedSinceMs >= limits.sendTimeoutMs) this.#socket.destroy();
    } else if (nowMs - this.#quietSinceMs >= limits.idleTimeoutMs) this.session.close();
  }
}
