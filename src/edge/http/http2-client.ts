import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { reportBug } from '../../lib/bug-report.ts';
import type { ListenerOwner } from '../../lib/guarded-listeners.ts';
import type { ConnectionFacts } from '../edge-connection.ts';
import type { Http2Port } from './http2-port.ts';
import { Stall } from './stall.ts';
import type { SweepLimits } from './sweep.ts';

/** A client's connection over HTTP/2. *Open* → *closed* (GOAWAY; streams under way finish) → the socket ends. */
export class Http2Client implements ListenerOwner {
  readonly facts: ConnectionFacts;
  readonly session: ServerHttp2Session;
  /** A bug outside of every request, or after one: those under way finish, others have to come on another connection. */
  readonly onBug: (error: unknown) => void;
  readonly #socket: Socket;
  /** A list in which the last one takes the place of one that leaves: see LiveExchanges. */
  readonly #ports: Http2Port[] = [];
  #quietSinceMs = performance.now();
  /** Of streams that are gone. */
  #takenBefore = 0;
  readonly #stall = new Stall();
  #isMoving = false;
  /** When it was seen to be closed, with no stream left. */
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
   * The window of the connection is used up, and what the client adds to it goes to some of its streams after the others: one that
   * gets nothing may have a reader who waits.
   */
  get isSentToOthers(): boolean {
    return this.#isMoving && (this.session.state.remoteWindowSize ?? 0) <= 0;
  }

  /**
   * What the client sends apart from requests (pings, a head byte by byte) keeps no connection open, and a client that does not
   * close its side after GOAWAY does not keep the socket.
   */
  check(nowMs: number, limits: SweepLimits): void {
    let taken = this.#takenBefore;
    for (const port of this.#ports) taken += port.taken;
    this.#isMoving = this.#stall.lasts(true, taken, nowMs) < limits.sendTimeoutMs;
    for (let at = this.#ports.length - 1; at >= 0; at -= 1) this.#ports[at]?.check(nowMs, limits);
    if (this.#ports.length > 0) return;
    if (this.session.closed || this.session.destroyed) {
      // Not at once: its last bytes may still be on their way.
      this.#closedSinceMs ??= nowMs;
      if (nowMs - this.#closedSinceMs >= limits.sendTimeoutMs) this.#socket.destroy();
    } else if (nowMs - this.#quietSinceMs >= limits.idleTimeoutMs) this.session.close();
  }
}
