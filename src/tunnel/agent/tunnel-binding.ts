import type { Bound, Unbound, Welcome } from '../protocol/messages.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import type { AgentEvents } from './handle.ts';
import { type AgentTimings, Backoff } from './timings.ts';
import type { Tunnel } from './tunnel.ts';

interface TunnelBindingParts {
  readonly tunnels: readonly Tunnel[];
  readonly events: AgentEvents;
  readonly timings: AgentTimings;
  /** A connection on which tunnels can be requested now. */
  connection(): GatewayConnection | null;
  /** A tunnel was bound or refused. */
  onSettled(): void;
  /** The server has not responded for too long. */
  onOverdue(reason: string): void;
}

/** A message that was sent this long ago on a connection that is open was carried out. */
const SETTLED_AFTER_MS = 30_000;

/** Requests the tunnels from the server, and retries where that can help. */
export class TunnelBinding {
  readonly #parts: TunnelBindingParts;
  /** The connection on which each tunnel was last requested. */
  readonly #asked = new Map<Tunnel, GatewayConnection>();
  readonly #waiting = new Map<Tunnel, NodeJS.Timeout>();
  readonly #backoffs = new Map<Tunnel, Backoff>();
  /** Tunnels that were closed, and the connection that carried the news; null while there was none. */
  readonly #closed = new Map<number, GatewayConnection | null>();
  #deadline: NodeJS.Timeout | null = null;

  constructor(parts: TunnelBindingParts) {
    this.#parts = parts;
  }

  /** In a session that the server has forgotten, tunnels have no ids. */
  bindAll(connection: GatewayConnection, isResumed: boolean): void {
    this.stop();
    if (!isResumed) this.#closed.clear();
    // The server may still have those whose end was lost with a connection.
    for (const ref of this.#closed.keys()) this.#unbind(ref, connection);
    for (const tunnel of this.#parts.tunnels) {
      if (tunnel.status === 'refused') continue;
      if (!isResumed) tunnel.id = null;
      this.#bind(tunnel, connection);
    }
  }

  unbindAll(connection: GatewayConnection): void {
    this.stop();
    for (const tunnel of this.#parts.tunnels) {
      if (tunnel.status !== 'refused') connection.send({ t: 'unbind', ref: tunnel.ref });
    }
  }

  /** Also for a tunnel that has changed and is bound already. */
  bind(tunnel: Tunnel): void {
    this.#bindNow(tunnel);
  }

  unbind(tunnel: Tunnel): void {
    const timer = this.#waiting.get(tunnel);
    if (timer !== undefined) clearTimeout(timer);
    this.#waiting.delete(tunnel);
    this.#backoffs.delete(tunnel);
    this.#asked.delete(tunnel);
    this.#moveDeadline();
    // Even without an answer, or offline: the server may have it, and ignores the number of a tunnel it does not have.
    this.#unbind(tunnel.ref, this.#parts.connection());
  }

  #unbind(ref: number, connection: GatewayConnection | null): void {
    this.#closed.set(ref, connection);
    if (connection === null) return;
    connection.send({ t: 'unbind', ref });
    const forget = setTimeout(() => {
      if (this.#closed.get(ref) === connection && !connection.isClosed) this.#closed.delete(ref);
    }, SETTLED_AFTER_MS);
    forget.unref();
  }

  #tunnel(ref: number): Tunnel | undefined {
    return this.#parts.tunnels.find((tunnel) => tunnel.ref === ref);
  }

  onBound(session: Session, bound: Bound): void {
    const tunnel = this.#tunnel(bound.ref);
    if (tunnel === undefined) return;
    this.#backoffs.delete(tunnel);
    tunnel.bound(bound);
    // A tunnel has one id at a time. Old ids would stay for the life of the session.
    for (const [id, other] of session.tunnels) if (other === tunnel) session.tunnels.delete(id);
    session.tunnels.set(bound.id, tunnel);
    this.#moveDeadline();
    this.#parts.events.tell({ type: 'bound', tunnel });
    this.#parts.onSettled();
  }

  onUnbound(unbound: Unbound): void {
    const { code, message, retry } = unbound;
    const tunnel = this.#tunnel(unbound.ref);
    if (tunnel === undefined) return;
    const next = tunnel.unbound(unbound);
    this.#moveDeadline();
    if (next === 'again') {
      this.#bindNow(tunnel);
      return;
    }
    if (next === 'wait') this.#bindLater(tunnel);
    this.#parts.events.tell({ type: 'unbound', tunnel, code, message, retry });
    this.#parts.onSettled();
  }

  /** A bind sent on a lost connection may or may not have been executed: it is undone and sent again. */
  onClosed(connection: GatewayConnection): void {
    for (const [ref, carrier] of this.#closed) {
      if (carrier === connection) this.#unbind(ref, this.#parts.connection());
    }
    for (const [tunnel, asked] of this.#asked) {
      if (asked !== connection) continue;
      this.#asked.delete(tunnel);
      const other = this.#parts.connection();
      if (tunnel.status !== 'binding' || other === null) continue;
      other.send({ t: 'unbind', ref: tunnel.ref });
      this.#bind(tunnel, other);
    }
  }

  stop(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    this.#deadline = null;
  }

  #bindLater(tunnel: Tunnel): void {
    const { backoffBaseMs, backoffMaxMs } = this.#parts.timings;
    const backoff = this.#backoffs.get(tunnel) ?? new Backoff(backoffBaseMs, backoffMaxMs);
    this.#backoffs.set(tunnel, backoff);
    const timer = setTimeout(() => {
      this.#waiting.delete(tunnel);
      this.#bindNow(tunnel);
    }, backoff.nextMs());
    this.#waiting.set(tunnel, timer);
  }

  /** Without a connection nothing is lost: the next one requests all tunnels. */
  #bindNow(tunnel: Tunnel): void {
    const connection = this.#parts.connection();
    if (connection !== null) this.#bind(tunnel, connection);
  }

  #bind(tunnel: Tunnel, connection: GatewayConnection): void {
    this.#asked.set(tunnel, connection);
    connection.send(tunnel.bindMessage());
    this.#moveDeadline();
  }

  /** The server handles binds one after the other: each response shows progress. */
  #moveDeadline(): void {
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    const isAwaited = this.#asked.keys().some(({ status }) => status === 'binding');
    const { bindTimeoutMs } = this.#parts.timings;
    this.#deadline = isAwaited ? setTimeout(() => this.#overdue(bindTimeoutMs), bindTimeoutMs) : null;
  }

  #overdue(afterMs: number): void {
    this.#deadline = null;
    const [first, ...others] = [...this.#asked.keys()].filter(({ status }) => status === 'binding');
    if (first === undefined) return;
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    const seconds = Math.round(afterMs / 1000);
    this.#parts.onOverdue(`the server has not responded to the request to open ${first.name}${more} for ${seconds} s`);
  }
}

/** The server's record of this run of the agent. */
export class Session {
  readonly id: string;
  /** Proof for a resume or join. A resume returns a new one. */
  secret: string;
  /** Tunnels by the ids that requests carry. */
  readonly tunnels = new Map<string, Tunnel>();
  /** All open connections that were welcomed, including draining ones. */
  readonly connections = new Set<GatewayConnection>();

  /** The server stopped responding in this session: the next connection starts a new one. */
  isAbandoned = false;

  constructor({ session, secret }: Welcome) {
    this.id = session;
    this.secret = secret ?? '';
  }

  get claim(): { readonly session: string; readonly secret: string } {
    return { session: this.id, secret: this.secret };
  }
}
