import type { ServerHttp2Stream } from 'node:http2';
import type {
  Bound,
  Command,
  GatewayMessage,
  Hello,
  OtherNode,
  Refused,
  Unbound,
  Welcome,
} from '../protocol/messages.ts';
import { type DialProblem, dialGateway } from './dial-gateway.ts';
import { GatewayConnection, type GatewayConnectionHandler } from './gateway-connection.ts';
import type { AgentNode } from './handle.ts';
import type { DialTarget } from './known-nodes.ts';
import type { RequestReading } from './local/served-request.ts';
import { type AgentTimings, Backoff } from './timings.ts';

/** How a connection joins a session: as its first, as a further one, or after all others were lost. */
export type Claim = 'none' | 'join' | 'resume';

/** Messages about the session and its tunnels. */
export type SessionMessage = Bound | Unbound | Command;

/** Where connections go. */
export interface SlotPlaces {
  /** Called for each attempt. */
  targetFor(slot: ConnectionSlot): DialTarget;
  onNodes(slot: ConnectionSlot, nodes: readonly OtherNode[]): void;
  /** A connection has closed, or the server drains it. */
  onLost(slot: ConnectionSlot): void;
}

export interface SlotOwner {
  /** Null: this connection is not needed at the moment. */
  helloFor(slot: ConnectionSlot): { readonly hello: Hello; readonly claim: Claim } | null;
  onWelcome(slot: ConnectionSlot, connection: GatewayConnection, welcome: Welcome, claim: Claim): void;
  /** `claim` is null when the connection had already been welcomed. */
  onRefused(slot: ConnectionSlot, refused: Refused, claim: Claim | null): void;
  onMessage(connection: GatewayConnection, message: SessionMessage): void;
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
  readonly #places: SlotPlaces;
  readonly #timings: AgentTimings;
  readonly #backoff: Backoff;
  #timer: NodeJS.Timeout | null = null;
  #nextTryAtMs = 0;
  #cancelDial: (() => void) | null = null;
  #connection: GatewayConnection | null = null;
  #target: DialTarget | null = null;
  #claim: Claim | null = null;
  #welcomedAtMs: number | null = null;
  #node: AgentNode | null = null;
  /** Makes one attempt only. */
  #isTrial: boolean;
  readonly #leaving = new Set<GatewayConnection>();

  constructor(owner: SlotOwner, places: SlotPlaces, timings: AgentTimings, isTrial = false) {
    this.#owner = owner;
    this.#places = places;
    this.#timings = timings;
    this.#isTrial = isTrial;
    this.#backoff = new Backoff(timings.backoffBaseMs, timings.backoffMaxMs);
  }

  get isResting(): boolean {
    return this.#timer === null && this.#cancelDial === null && this.#connection === null;
  }

  /** The connection that has been welcomed and is not draining. */
  get online(): GatewayConnection | null {
    return this.#welcomedAtMs === null ? null : this.#connection;
  }

  /** The server that has its connection, or has just lost it. */
  get node(): AgentNode | null {
    return this.#node;
  }

  get isTrial(): boolean {
    return this.#isTrial;
  }

  /** Whether no connection is left, not even one that is draining. */
  get isEmpty(): boolean {
    return this.isResting && this.#leaving.size === 0;
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

  /** The trial succeeded: the slot replaces its connection from now on. */
  keep(): void {
    this.#isTrial = false;
  }

  /** Gives up its connection without a successor, after the last stream. */
  retire(): void {
    this.#cancel();
    const connection = this.#connection;
    this.#connection = null;
    if (connection === null) return;
    if (this.#welcomedAtMs === null) connection.fail('it is no longer needed');
    else {
      this.#welcomedAtMs = null;
      this.#leaving.add(connection);
      connection.retire();
    }
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
  closeAll(reason: string): void {
    this.#cancel();
    const all = [...this.#leaving, ...(this.#connection === null ? [] : [this.#connection])];
    this.#connection = null;
    this.#welcomedAtMs = null;
    for (const connection of all) connection.close(reason);
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
    } else if (isGreeting || message.t === 'enrolled') {
      connection.fail('the first message of the server must be welcome');
    } else if (message.t === 'nodes') this.#places.onNodes(this, message.nodes);
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
    this.#places.onLost(this);
    this.#node = null;
    this.#again();
  }

  onClosed(connection: GatewayConnection, reason: string): void {
    this.#leaving.delete(connection);
    if (connection === this.#connection) {
      this.#connection = null;
      if (this.#welcomedAtMs === null) this.#target?.failed();
      this.#lived(this.#timings.stableAfterMs);
      this.#again();
    }
    this.#owner.onClosed(this, connection, reason);
    this.#places.onLost(this);
    if (this.#connection === null) this.#node = null;
  }

  #welcomed(connection: GatewayConnection, welcome: Welcome, claim: Claim): void {
    this.#welcomedAtMs = performance.now();
    this.#node = welcome.node ?? null;
    this.#target?.reached();
    this.#owner.onWelcome(this, connection, welcome, claim);
    for (const old of this.#leaving) old.drain();
  }

  /** Only a connection that was useful allows a quick retry. */
  #lived(stableAfterMs: number): void {
    const sinceMs = this.#welcomedAtMs;
    this.#welcomedAtMs = null;
    if (sinceMs !== null && performance.now() - sinceMs >= stableAfterMs) this.#backoff.reset();
  }

  #again(): void {
    if (!this.#isTrial) this.begin(this.#backoff.nextMs());
  }

  #dial(): void {
    this.#claim = null;
    const target = this.#places.targetFor(this);
    this.#target = target;
    this.#cancelDial = dialGateway(target.address, target.timeoutMs, (socket, problem) => {
      this.#cancelDial = null;
      if (socket !== null) {
        this.#connection = new GatewayConnection(socket, this, this.#timings);
      } else if (problem !== null) {
        target.failed();
        this.#again();
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
