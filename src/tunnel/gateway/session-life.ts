import type { AgentSession, BoundTunnel, LocalConnection } from './agent-session.ts';
import type { GatewayPorts, GatewayWorkers } from './ports.ts';
import type { Announcements, Presence } from './presence.ts';
import type { Claims, HeldNames, SessionRecords } from './tunnel-names.ts';

/** How long ids and names of a disconnected agent are kept for a resume. */
const RESUME_WITHIN_MS = 60_000;

interface SessionLifeParts {
  readonly sessions: Map<string, AgentSession>;
  readonly ports: Pick<GatewayPorts, 'table' | 'events' | 'endpoints' | 'log'>;
  readonly heldNames: Pick<HeldNames, 'release'>;
  readonly presence: Presence;
  readonly announcements: Announcements;
  readonly claims: Claims;
  readonly records: SessionRecords;
  readonly copies: SessionCopies;
}

/** Sessions of agents and their tunnels, from the first connection to the end. Traffic, lists and names follow. */
export class SessionLife {
  readonly all: Map<string, AgentSession>;
  readonly #parts: SessionLifeParts;

  constructor(parts: SessionLifeParts) {
    this.all = parts.sessions;
    this.#parts = parts;
  }

  /** A connection of this node was added or removed: only with one can traffic reach the tunnels from here. */
  routeAll(session: AgentSession): void {
    const { announcements } = this.#parts;
    if (session.isOnline && (session.home === null || session.local.length > 0)) announcements.session(session);
    else announcements.sessionGone(session);
    for (const connection of session.local) connection.belongsTo?.(session.id, session.home === null);
    for (const tunnel of session.tunnels.values()) this.route(tunnel);
  }

  route(tunnel: BoundTunnel): void {
    const { ports, announcements } = this.#parts;
    const { table } = ports;
    const { session } = tunnel;
    if (tunnel.isListed && session.local.length > 0 && !session.isEnded) {
      if (table.get(tunnel.id) !== tunnel) table.add(tunnel);
      announcements.tunnel(tunnel);
    } else if (table.get(tunnel.id) === tunnel) {
      table.remove(tunnel);
      announcements.tunnelGone(tunnel);
    }
  }

  /** Traffic first, then the list: a listed tunnel receives traffic. */
  async online(tunnel: BoundTunnel): Promise<void> {
    const { presence, ports, records, copies } = this.#parts;
    // The agent may have disconnected while a name was being chosen.
    if (!tunnel.session.isOnline) return;
    const isNew = !tunnel.isListed;
    tunnel.isListed = true;
    this.route(tunnel);
    records.changed(tunnel.session);
    copies.tunnelChanged(tunnel);
    await presence.listTunnel(tunnel);
    if (isNew) ports.events.tunnelStarted(tunnel.id);
  }

  /** What its agent reports about its machine, for the list of problems. */
  async problemsChanged(session: AgentSession, problems: readonly string[]): Promise<void> {
    if (JSON.stringify(problems) === JSON.stringify(session.problems)) return;
    session.problems = problems;
    if (!session.isOnline) return;
    const { presence, announcements, copies } = this.#parts;
    announcements.session(session);
    copies.sessionChanged(session);
    await presence.listSession(session);
  }

  /** A connection of this node is gone. */
  closed(connection: LocalConnection, session: AgentSession, reason: string | null): void {
    const at = session.local.indexOf(connection);
    if (at !== -1) session.local.splice(at, 1);
    this.lostOne(session, reason);
  }

  /** One of its connections is gone, on any node. */
  lostOne(session: AgentSession, reason: string | null): void {
    if (session.isEnded || session.home !== null) return;
    if (!session.isOnline) this.#wentOffline(session, reason);
    else if (session.local.length === 0) this.routeAll(session);
  }

  /** Traffic can no longer reach it, so it is not listed; its names are kept for a resume. */
  #wentOffline(session: AgentSession, reason: string | null): void {
    const { presence, ports } = this.#parts;
    const tunnels = [...session.tunnels.values()];
    for (const tunnel of tunnels) tunnel.isListed = false;
    this.routeAll(session);
    void presence.unlistSession(session);
    for (const tunnel of tunnels) ports.events.tunnelStopped(tunnel.id);
    this.#reportStop(session);
    ports.log.info({ session: session.id, why: reason }, 'an agent went offline');
    this.awaitResume(session);
  }

  awaitResume(session: AgentSession): void {
    session.offlineTimer = setTimeout(() => {
      void this.end(session, null, 'the agent did not reconnect in time');
    }, RESUME_WITHIN_MS).unref();
  }

  /** The agent ends on purpose. */
  async farewell(session: AgentSession): Promise<void> {
    if (!session.isEnded) await this.#parts.presence.farewell(session);
  }

  async end(session: AgentSession, code: string | null, reason: string, retry = false): Promise<void> {
    if (session.isEnded) return;
    const { presence, ports, claims, records, copies } = this.#parts;
    const wasOnline = session.isOnline;
    session.isEnded = true;
    if (session.offlineTimer !== null) clearTimeout(session.offlineTimer);
    this.all.delete(session.id);
    const tunnels = [...session.tunnels.values()];
    for (const tunnel of tunnels) this.#takeDown(tunnel);
    this.routeAll(session);
    const unserved = copies.sessionEnded(session);
    claims.release(session, keysOf(session), unserved);
    records.remove(session, unserved);
    if (wasOnline) {
      await presence.unlistSession(session);
      for (const tunnel of tunnels) ports.events.tunnelStopped(tunnel.id);
      this.#reportStop(session);
      ports.log.info({ session: session.id, why: reason }, 'an agent is gone');
    }
    for (const connection of session.connections) {
      if (code === null) connection.close();
      else connection.refuse(code, reason, retry);
    }
  }

  async endTunnel(tunnel: BoundTunnel): Promise<void> {
    const { presence, ports, claims, records, copies } = this.#parts;
    const { session, isListed: wasListed } = tunnel;
    session.tunnels.delete(tunnel.id);
    const stillOwned = keysOf(session);
    const keys = tunnel.claimKeys.filter((key) => !stillOwned.includes(key));
    if (wasListed) await presence.unlistTunnels([tunnel]);
    this.#takeDown(tunnel);
    claims.release(session, keys, copies.tunnelGone(tunnel));
    records.changed(session);
    if (wasListed) ports.events.tunnelStopped(tunnel.id);
  }

  /** A connection may close before its start was reported. */
  #reportStop(session: AgentSession): void {
    if (session.isReported) this.#parts.ports.events.sessionStopped(session.id);
    session.isReported = false;
  }

  #takeDown(tunnel: BoundTunnel): void {
    tunnel.isListed = false;
    this.route(tunnel);
    if (tunnel.host !== null) this.#parts.heldNames.release(tunnel.host, tunnel);
    if (tunnel.endpointId !== null) this.#parts.ports.endpoints.withdraw(tunnel.endpointId);
  }
}

function keysOf(session: AgentSession): readonly string[] {
  return [...session.tunnels.values()].flatMap((tunnel) => tunnel.claimKeys);
}

/** Copies of this node's sessions on other nodes that have connections of the same agents. */
export interface SessionCopies {
  tunnelChanged(tunnel: BoundTunnel): void;
  /** Resolves once no other node serves the tunnel: each has confirmed the end, or no longer has a grant. */
  tunnelGone(tunnel: BoundTunnel): Promise<void>;
  sessionEnded(session: AgentSession): Promise<void>;
  sessionChanged(session: AgentSession): void;
}

/** Workers of this node may serve sessions too. */
export function alsoInWorkers(copies: SessionCopies, workers: GatewayWorkers | undefined): SessionCopies {
  if (workers === undefined) return copies;
  const both = async (elsewhere: Promise<void>): Promise<void> => {
    await Promise.all([elsewhere, workers.settled()]);
  };
  return {
    tunnelChanged: (tunnel) => copies.tunnelChanged(tunnel),
    tunnelGone: (tunnel) => both(copies.tunnelGone(tunnel)),
    sessionEnded: (session) => both(copies.sessionEnded(session)),
    sessionChanged: (session) => copies.sessionChanged(session),
  };
}

export const NO_COPIES: SessionCopies = {
  tunnelChanged: () => {},
  tunnelGone: () => Promise.resolve(),
  sessionEnded: () => Promise.resolve(),
  sessionChanged: () => {},
};
