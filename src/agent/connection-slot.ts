import type { ServerHttp2Stream } from 'node:http2';
import type { GatewayMessage, Hello, Refused, Welcome } from '../tunnel/messages.ts';
import { Backoff } from './backoff.ts';
import { dialGateway, type GatewayAddress } from './dial-gateway.ts';
import type { DialProblem } from './dial-problem.ts';
import { GatewayConnection, type GatewayConnectionHandler } from './gateway-connection.ts';
import type { RequestReading } from './local/request-reading.ts';
import type { AgentTimings } from './timings.ts';

/** How a connection joins a session: as its first, as a further one, or after all others were lost. */
export type Claim = 'none' | 'join' | 'resume';

export interface SlotOwner {
  /** Null: this connection is not needed at the moment. */
  helloFor(slot: ConnectionSlot): { readonly hello: Hello; readonly claim: Claim } | null;
  onWelcome(slot: ConnectionSlot, connection: GatewayConnection, welcome: Welcome, claim: Claim): void;
  /** `claim` is null when the connection had already been welcomed. */
  onRefused(slot: ConnectionSlot, refused: Refused, claim: Claim | null): void;
  onMessage(connection: GatewayConnection, message: Exclude<GatewayMessage, Welcome | Refused>): void;
  onStream(connection: GatewayConnection, stream: ServerHttp2Stream, reading: RequestReading): void;
  onUnreachable(slot: ConnectionSlot, problem: DialProblem): void;
  onClosed(slot: ConnectionSlot, connection: GatewayConnection, reason: string): void;
}

/**
 * Holds one connection to the server and replaces it when it is lost. States: *resting*, *waiting* for the next
 * attempt, *dialling*, *greeting*, *online*. A connection that the server is draining continues beside its successor
 * until its last stream ends.
 */
export class ConnectionSlot implements GatewayConnectionHandler {
  readonly #owner: SlotOwner;
  readonly #address: GatewayAddress;
  readonly #timings: AgentTimings;
  readonly #backoff: Backoff;
  #timer: NodeJS.Timeout | null = null;
  #nextTryAtMs = 0;
  #cancelDial: (() => void) | null = null;
  #connection: GatewayConnection | null = null;
  #claim: Claim | null = null;
  #welcomedAtMs: number | null = null;
  readonly #leaving = new Set<GatewayConnection>();

  constructor(owner: SlotOwner, address: GatewayAddress, timings: AgentTimings) {
    this.#owner = owner;
    this.#address = address;
    this.#timings = timings;
    this.#backoff = new Backoff(timings.backoffBaseMs, timings.backoffMaxMs);
  }

  get isResting(): boolean {
    return this.#timer === null && this.#cancelDial === null && this.#connection === null;
  }

  /** The connection that has been welcomed and is not draining. */
  get online(): GatewayConnection | null {
    return this.#welcomedAtMs === null ? null : this.#connection;
  }

  /** Time until the next attempt; 0 while one is in progress, null when none is planned. */
  get nextTryMs(): number | null {
    if (this.#timer !== null) return Math.max(0, Math.round(this.#nextTryAtMs - performance.now()));
    return this.isResting || this.#welcomedAtMs !== null ? null : 0;
  }

  begin(delayMs: number): void {
    this.#cancel();
    this.#nextTryAtMs = performance.now() + delayMs;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#dial();
    }, delayMs);
  }

  /** Starts over immediately. A connection that has not been welcomed yet is dropped. */
  startOver(): void {
    this.rest();
    this.#backoff.reset();
    this.begin(0);
  }

  /** Makes no further attempts. A connection that was welcomed stays. */
  rest(): void {
    this.#cancel();
    if (this.#welcomedAtMs !== null) return;
    const connection = this.#connection;
    this.#connection = null;
    connection?.fail('it is no longer needed');
  }

  /** Closes every connection. */
  closeAll(reason: string, how: 'close' | 'fail'): void {
    this.#cancel();
    const all = [...this.#leaving, ...(this.#connection === null ? [] : [this.#connection])];
    this.#connection = null;
    this.#welcomedAtMs = null;
    for (const connection of all) connection[how](reason);
  }

  onReady(connection: GatewayConnection): void {
    const wanted = connection === this.#connection ? this.#owner.helloFor(this) : null;
    if (wanted === null) {
      if (connection === this.#connection) this.#connection = null;
      connection.close('it is no longer needed');
      return;
    }
    this.#claim = wanted.claim;
    connection.send(wanted.hello);
  }

  onMessage(connection: GatewayConnection, message: GatewayMessage): void {
    const isGreeting = connection === this.#connection && this.#welcomedAtMs === null;
    if (message.t === 'refused') {
      this.#owner.onRefused(this, message, isGreeting ? this.#claim : null);
      connection.close(message.message);
    } else if (message.t === 'welcome') {
      if (isGreeting && this.#claim !== null) this.#welcomed(connection, message, this.#claim);
      else connection.fail('the server sent welcome twice');
    } else if (isGreeting) connection.fail('the first message of the server must be welcome');
    else if (message.t !== 'drain') this.#owner.onMessage(connection, message);
  }

  onStream(connection: GatewayConnection, stream: ServerHttp2Stream, reading: RequestReading): void {
    this.#owner.onStream(connection, stream, reading);
  }

  onDrain(connection: GatewayConnection): void {
    if (connection !== this.#connection) return;
    if (this.#welcomedAtMs === null) {
      connection.close('the server is shutting down');
      return;
    }
    this.#leaving.add(connection);
    this.#connection = null;
    this.#lived(this.#timings.stableBeforeDrainMs);
    this.begin(this.#backoff.nextMs());
  }

  onClosed(connection: GatewayConnection, reason: string): void {
    this.#leaving.delete(connection);
    if (connection === this.#connection) {
      this.#connection = null;
      this.#lived(this.#timings.stableAfterMs);
      this.begin(this.#backoff.nextMs());
    }
    this.#owner.onClosed(this, connection, reason);
  }

  #welcomed(connection: GatewayConnection, welcome: Welcome, claim: Claim): void {
    this.#welcomedAtMs = performance.now();
    this.#owner.onWelcome(this, connection, welcome, claim);
    for (const old of this.#leaving) old.drain();
  }

  /** Only a connection that was useful allows a quick retry. */
  #lived(stableAfterMs: number): void {
    const sinceMs = this.#welcomedAtMs;
    this.#welcomedAtMs = null;
    if (sinceMs !== null && performance.now() - sinceMs >= stableAfterMs) this.#backoff.reset();
  }

  #dial(): void {
    this.#claim = null;
    this.#cancelDial = dialGateway(this.#address, this.#timings.connectTimeoutMs, (socket, problem) => {
      this.#cancelDial = null;
      if (socket !== null) {
        this.#connection = new GatewayConnection(socket, this, this.#timings);
      } else if (problem !== null) {
        this.begin(this.#backoff.nextMs());
        this.#owner.onUnreachable(this, problem);
      }
    });
  }

  #cancel(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#cancelDial?.();
    this.#cancelDial = null;
  }
}
