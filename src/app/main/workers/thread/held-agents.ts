import type { Socket } from 'node:net';
import type { Clock } from '../../../../kit/clock.ts';
import { ignoreErrors } from '../../../../kit/guarded-listeners.ts';
import type { ArrivingClients } from '../../../../kit/net/arriving-clients.ts';
import { type Shortage, shortageOf, takes } from '../../../../kit/net/shared-places.ts';
import type { AgentLink, OnlineTunnels } from '../../../../proxy/edge/tunnels/online-tunnels.ts';
import { ManagedContexts, type ManagedRecords } from '../../../../proxy/pki/managed-certificates.ts';
import type { AgentFigures } from '../../../../proxy/telemetry/live/installation-tunnels.ts';
import { AgentConnection, agentFigures } from '../../../../tunnel/gateway/agent-connection.ts';
import { AgentHandshakes } from '../../../../tunnel/gateway/agent-handshakes.ts';
import type { ConnectionHandler } from '../../../../tunnel/gateway/agent-session.ts';
import { HopWebSockets, receiveChannelHops, receiveHops } from '../../../../tunnel/nodes/hop/receive-hops.ts';
import { ServedFeeds } from '../../../../tunnel/nodes/links/feeds.ts';
import { IncomingLink } from '../../../../tunnel/nodes/links/incoming-link.ts';
import { BETWEEN_THREADS } from '../../../../tunnel/nodes/links/peer-links.ts';
import { ServedCalls } from '../../../../tunnel/nodes/links/served-calls.ts';
import type { AgentMessage } from '../../../../tunnel/protocol/messages.ts';
import type { AgentOrder, AgentReports, AgentTls } from '../worker-protocol.ts';

interface HeldAgentsOptions {
  readonly clients: ArrivingClients;
  readonly records: ManagedRecords;
  readonly clock: Clock;
  readonly log: { debug(fields: object, message: string): void; error(fields: object, message: string): void };
  /** Workers that share limits. */
  readonly threads: number;
  readonly main: AgentReports;
}

interface Held {
  readonly number: number;
  sessionId: string | null;
}

interface HeldSession {
  readonly id: string;
  readonly local: AgentConnection[];
  /** This node decides about the session. */
  isHome: boolean;
}

/**
 * The connections of agents that this worker has: it does TLS, HTTP/2 and pings, and carries streams. The gateway in
 * the main thread gets all messages of agents, and decides what happens to each connection.
 */
export class HeldAgents implements ConnectionHandler<AgentConnection> {
  readonly #options: HeldAgentsOptions;
  readonly #byNumber = new Map<number, AgentConnection>();
  readonly #held = new Map<AgentConnection, Held>();
  readonly #sessions = new Map<string, HeldSession>();
  readonly #managed: ManagedContexts;
  readonly #handshakes: AgentHandshakes;
  #lastNumber = 0;

  constructor(tls: AgentTls, options: HeldAgentsOptions) {
    const { clients, records, clock, log, threads } = options;
    this.#options = options;
    const onProblem = (err: unknown): void => log.error({ err }, 'failed to use a certificate for agents');
    this.#managed = new ManagedContexts({ records, clock, names: tls.managedNames, onProblem });
    this.#handshakes = new AgentHandshakes({
      ...{ clients, tls, threads, log },
      contextFor: (name) => this.#managed.contextFor(name),
      onAgent: (socket, remoteAddress) => this.#arrived(new AgentConnection(socket, this, remoteAddress)),
    });
  }

  accept(socket: Socket): void {
    this.#handshakes.accept(ignoreErrors(socket));
  }

  useTls(tls: AgentTls): void {
    this.#handshakes.use(tls);
  }

  /** The connection with the fewest streams, among those of this worker. */
  link(sessionId: string, tried: readonly AgentLink[] | undefined, visitor: string | undefined): AgentLink | null {
    let best: AgentConnection | null = null;
    for (const connection of this.#sessions.get(sessionId)?.local ?? []) {
      if (!takes(connection, visitor) || tried?.includes(connection) === true) continue;
      if (best === null || connection.active < best.active) best = connection;
    }
    return best;
  }

  shortage(sessionId: string, visitor: string | undefined): Shortage | null {
    return shortageOf(this.#sessions.get(sessionId)?.local ?? [], visitor);
  }

  isHome(sessionId: string): boolean {
    return this.#sessions.get(sessionId)?.isHome === true;
  }

  figures(): Iterable<AgentFigures | null> {
    return agentFigures(this.#sessions.values());
  }

  isAlive(number: number, withinMs: number): Promise<boolean> {
    return this.#byNumber.get(number)?.isAlive(withinMs) ?? Promise.resolve(false);
  }

  carryOut(number: number, order: AgentOrder): void {
    const connection = this.#byNumber.get(number);
    if (connection === undefined) return;
    switch (order.do) {
      case 'belong':
        this.#belongs(connection, order.sessionId, order.isHome);
        return;
      case 'send':
        connection.send(order.message);
        return;
      case 'refuse':
        connection.refuse(order.code, order.message, order.retry);
        return;
      case 'fail':
        connection.fail(order.reason);
        return;
      case 'drain':
        connection.drain();
        // With streams, it closes after the last one.
        this.#options.main.agentActive(number, connection.active);
        return;
      case 'greeted':
      case 'close':
      case 'sendAway':
      case 'retire':
        connection[order.do]();
    }
  }

  onMessage(connection: AgentConnection, message: AgentMessage): void {
    const held = this.#held.get(connection);
    if (held !== undefined) this.#options.main.agentSaid(held.number, message);
  }

  onClosed(connection: AgentConnection, reason: string | null): void {
    const held = this.#held.get(connection);
    if (held === undefined) return;
    this.#held.delete(connection);
    this.#byNumber.delete(held.number);
    this.#leaveSession(connection, held);
    this.#options.main.agentClosed(held.number, reason);
  }

  /** The thread is about to end. */
  close(): void {
    this.#handshakes.close();
    this.#managed.close();
    for (const connection of this.#byNumber.values()) connection.fail('the server is being stopped');
  }

  #arrived(connection: AgentConnection): void {
    this.#lastNumber += 1;
    this.#byNumber.set(this.#lastNumber, connection);
    this.#held.set(connection, { number: this.#lastNumber, sessionId: null });
    this.#options.main.agentArrived(this.#lastNumber, connection.remoteAddress);
  }

  #belongs(connection: AgentConnection, sessionId: string, isHome: boolean): void {
    const held = this.#held.get(connection);
    if (held === undefined) return;
    if (held.sessionId !== sessionId) this.#leaveSession(connection, held);
    const known = this.#sessions.get(sessionId);
    const session = known ?? { id: sessionId, local: [], isHome };
    session.isHome = isHome;
    if (known === undefined) this.#sessions.set(sessionId, session);
    if (held.sessionId === null) session.local.push(connection);
    held.sessionId = sessionId;
  }

  #leaveSession(connection: AgentConnection, held: Held): void {
    const session = held.sessionId === null ? undefined : this.#sessions.get(held.sessionId);
    held.sessionId = null;
    if (session === undefined) return;
    session.local.splice(session.local.indexOf(connection), 1);
    if (session.local.length === 0) this.#sessions.delete(session.id);
  }
}

/** The worker's end of a connection on which the main thread opens streams for agents of this worker. */
export class HeldLink {
  readonly #link: IncomingLink;

  constructor(socket: Socket, held: OnlineTunnels, onViolation: (why: string) => void) {
    const served = {
      calls: new ServedCalls(() => {}),
      feeds: new ServedFeeds(),
      streams: receiveHops(held, new HopWebSockets()),
      requests: receiveChannelHops(held),
      onViolation: (_main: string, why: string) => onViolation(why),
    };
    // A socket that was handed over does not read by itself, and HTTP/2 takes it as it is.
    socket.resume();
    this.#link = new IncomingLink(socket, 'main', served, () => {}, BETWEEN_THREADS);
  }

  close(): void {
    this.#link.fail();
  }
}
