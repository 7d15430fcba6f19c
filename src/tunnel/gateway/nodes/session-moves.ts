import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../../kit/async/waiting.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { PeerRefusal } from '../../nodes/links/peer-links.ts';
import type { AgentRequests } from '../agent-requests.ts';
import { type AgentSession, type BoundTunnel, type RightToServe, sessionRecord } from '../agent-session.ts';
import type { ClusterPorts, GatewayPorts } from '../ports.ts';
import type { Presence } from '../presence.ts';
import type { SessionLife } from '../session-life.ts';
import type { HeldNames } from '../tunnel-names.ts';
import { leaseLeftMs } from './grant.ts';
import type { HolderSide, NewHome } from './holder-side.ts';
import { GRANT_MS, type HomeSide, holdersOf } from './home-side.ts';
import { decodeRejoin, stringsOf } from './join-message.ts';
import type { StoredSessions } from './stored-sessions.ts';

const STORE_WITHIN_MS = 2_500;
const REJOIN_WITHIN_MS = 3_000;
const REJOIN_TRIES = 20;
const MOVE_AGAIN_MS = 150;
const TAKEN_WITHIN_MS = 1_000;

interface SessionMovesParts {
  readonly ports: Pick<GatewayPorts, 'log' | 'events'>;
  readonly cluster: ClusterPorts;
  readonly life: () => SessionLife;
  readonly heldNames: HeldNames;
  readonly requests: () => AgentRequests;
  readonly presence: Presence;
  readonly records: StoredSessions;
  readonly homeSide: HomeSide;
  readonly holderSide: () => HolderSide;
  /** The right of this node for its own sessions. */
  readonly right: RightToServe;
}

/** Changes of a session's home. The store decides which node is the home; memory follows. */
export class SessionMoves {
  readonly #parts: SessionMovesParts;
  readonly #moving = new WeakSet<AgentSession>();
  /** Sessions whose new homes do not know yet which connections are here. */
  readonly #arriving = new WeakSet<AgentSession>();

  constructor(parts: SessionMovesParts) {
    this.#parts = parts;
  }

  /** Whether this node can ask the session's home about the session. */
  isSettled(session: AgentSession): boolean {
    return !this.#moving.has(session) && !this.#arriving.has(session);
  }

  /** This node is the home from now on, by the store. The agent notices nothing. */
  promote(session: AgentSession, epoch: number): void {
    const { ports, life, heldNames, requests, presence, records, holderSide } = this.#parts;
    if (session.isEnded || (session.home === null && session.epoch === epoch)) return;
    session.home = null;
    session.epoch = epoch;
    session.right = this.#parts.right;
    for (const tunnel of session.tunnels.values()) if (tunnel.host !== null) heldNames.hold(tunnel.host, tunnel);
    life().routeAll(session);
    records.changed(session);
    session.isReported = session.isOnline;
    if (session.isReported) ports.events.sessionTaken(session.id, [...session.tunnels.keys()]);
    void presence.listSession(session).catch(() => {});
    for (const tunnel of session.tunnels.values()) void presence.listTunnel(tunnel).catch(() => {});
    ports.log.info({ session: session.id, epoch }, 'this node decides about a session from now on');
    for (const connection of session.local) {
      for (const request of holderSide().connections.takeOpen(connection)) {
        requests().carryOut(session, connection, request);
      }
      holderSide().connections.delete(connection);
    }
    if (!session.isOnline) life().awaitResume(session);
  }

  /** Another node is the home from now on, by the store. Connections stay, and the new home decides about them. */
  demote(session: AgentSession, home: string, epoch: number): void {
    const { ports, life, heldNames, holderSide } = this.#parts;
    for (const tunnel of session.tunnels.values()) {
      if (tunnel.host !== null) heldNames.release(tunnel.host, tunnel);
    }
    session.home = home;
    session.epoch = epoch;
    session.right = holderSide().grantOf(home);
    session.remote.length = 0;
    session.isReported = false;
    ports.events.sessionGiven(session.id, [...session.tunnels.keys()]);
    if (session.offlineTimer !== null) clearTimeout(session.offlineTimer);
    session.offlineTimer = null;
    ports.log.info({ session: session.id, home, epoch }, 'another node decides about a session from now on');
    if (session.local.length === 0) holderSide().drop(session);
    else life().routeAll(session);
  }

  /** Hands the session over to a node with one of its connections, because this node is leaving. */
  handOver(session: AgentSession, nodeId: string): Promise<boolean> {
    if (this.#moving.has(session)) return Promise.resolve(false);
    this.#moving.add(session);
    const moved = session.work.then(() => this.#handOver(session, nodeId)).catch(() => false);
    session.work = moved.then(() => {});
    return moved.finally(() => this.#moving.delete(session));
  }

  async #handOver(session: AgentSession, nodeId: string): Promise<boolean> {
    const { cluster, records, homeSide, holderSide } = this.#parts;
    const { store, membership } = cluster;
    await within(records.settled(session), STORE_WITHIN_MS, 'the database');
    if (session.isEnded || session.home !== null || !holdersOf(session).has(nodeId)) return false;
    const askedAtMs = performance.now();
    const move = store.moveSession(session.id, session.epoch, nodeId, membership.self.id);
    const outcome = await within(move, STORE_WITHIN_MS, 'the database');
    if (!outcome.ok || session.isEnded || session.home !== null) return false;
    const { epoch } = outcome.session;
    const others = [...holdersOf(session)].filter((each) => each !== nodeId);
    const connections = holderSide().numbered(session);
    homeSide.outbox(nodeId).push({ session: session.id, do: 'take', epoch, connections, holders: others });
    const moved = { session: session.id, do: 'moved', home: nodeId, epoch, lease_ms: leaseLeftMs(membership, nodeId) };
    for (const each of others) homeSide.outbox(each).push(moved);
    this.demote(session, nodeId, epoch);
    // The new home counts this node's grant from the time it hears of the move. Visitors of this node notice nothing.
    holderSide().grantOf(nodeId).extend(askedAtMs, { grant_ms: GRANT_MS });
    await homeSide.outbox(nodeId).confirmed(TAKEN_WITHIN_MS);
    return true;
  }

  /** The old home has handed the session over, and keeps connections of the agent until they close. */
  taken(session: AgentSession, epoch: number, from: string, line: JsonObject): void {
    const { homeSide, life } = this.#parts;
    const { connections } = decodeRejoin({ session: session.id, connections: line['connections'] ?? [] });
    for (const { number, remoteAddress } of connections) {
      session.remote.push(homeSide.remoteConnection({ nodeId: from, number, remoteAddress, sessionId: session.id }));
    }
    homeSide.inherit(session, [from, ...stringsOf(line['holders'])]);
    this.promote(session, epoch);
    life().routeAll(session);
  }

  /** Tells the new home about the connections of this node. */
  async rejoin(session: AgentSession, { home, epoch, leaseMs = 0 }: NewHome): Promise<void> {
    const { holderSide } = this.#parts;
    if (session.home !== home) {
      const { home: former, right } = session;
      this.demote(session, home, epoch);
      const held = former === null ? null : holderSide().grantOf(former);
      // Another right means that the former home has refused the session since.
      if (held !== null && held === right) holderSide().grantOf(home).inherit(held, leaseMs);
    }
    this.#arriving.add(session);
    try {
      await this.#tellConnections(session, home);
    } finally {
      this.#arriving.delete(session);
    }
  }

  async #tellConnections(session: AgentSession, home: string): Promise<void> {
    const { cluster, holderSide } = this.#parts;
    for (let tries = 0; tries < REJOIN_TRIES && session.home === home && !session.isEnded; tries += 1) {
      const askedAtMs = performance.now();
      try {
        const message = { session: session.id, connections: holderSide().numbered(session) };
        const answer = await cluster.links.call(home, 'session.rejoin', message, REJOIN_WITHIN_MS);
        holderSide().grantOf(home).extend(askedAtMs, answer);
        for (const connection of session.local) {
          for (const request of holderSide().connections.takeOpen(connection)) {
            holderSide().relay(session, connection, request);
          }
        }
        return;
      } catch (error) {
        // The node may not know yet that it is the home.
        await sleep(error instanceof PeerRefusal ? MOVE_AGAIN_MS : 2 * MOVE_AGAIN_MS, undefined, { ref: false });
      }
    }
    if (session.home === home && !session.isEnded) {
      holderSide().sendBack(session, 'the session has moved to another node: the agent connects again');
    }
  }

  /** Gives a copy the home that the store names. False: the store does not know the session, or knows no other home. */
  async follow(session: AgentSession): Promise<boolean> {
    const { store, membership } = this.#parts.cluster;
    const stored = await within(store.getSession(session.id), STORE_WITHIN_MS, 'the database');
    if (stored === null) return false;
    if (stored.nodeId === membership.self.id) {
      // The former home has not said which other nodes may serve the session. The former home itself may.
      if (session.home !== null) this.#parts.homeSide.inherit(session, [session.home]);
      this.promote(session, stored.epoch);
    } else if (stored.nodeId !== session.home || stored.epoch !== session.epoch) {
      void this.rejoin(session, { home: stored.nodeId, epoch: stored.epoch });
    } else return false;
    return true;
  }
}

const COMPARE_AGAIN_MS = 300;

interface LeaseRecoveryParts {
  readonly ports: Pick<GatewayPorts, 'log'>;
  readonly cluster: ClusterPorts;
  readonly life: () => SessionLife;
  readonly moves: () => SessionMoves;
}

/**
 * Recovers after the lease of this node had ended. If other nodes may have taken names and sessions of this node, this
 * node serves no name until it has compared all of them with the store. It claims free names again. Other tunnels end,
 * and sessions with a new home stay with that home.
 */
export class LeaseRecovery implements RightToServe {
  readonly #parts: LeaseRecoveryParts;
  #round = 0;
  #isComparing = false;

  constructor(parts: LeaseRecoveryParts) {
    this.#parts = parts;
    // The membership waits for the comparison before this node serves names again.
    parts.cluster.membership.onLeaseExpired((isDoubtful) => this.compare(isDoubtful));
  }

  mayServe(): boolean {
    return !this.#isComparing && this.#parts.cluster.membership.mayServe();
  }

  async compare(isDoubtful: boolean): Promise<void> {
    this.#round += 1;
    const round = this.#round;
    this.#isComparing = isDoubtful;
    while (round === this.#round) {
      try {
        await this.#compareAll();
        break;
      } catch (err) {
        this.#parts.ports.log.warn({ err }, 'failed to compare sessions with the store after the lease had ended');
        await sleep(COMPARE_AGAIN_MS, undefined, { ref: false });
      }
    }
    if (round === this.#round) this.#isComparing = false;
  }

  /** One session that the store does not know as this node's. */
  async compareOne(session: AgentSession): Promise<void> {
    const { store, membership } = this.#parts.cluster;
    const nodeId = membership.self.id;
    if (session.isEnded || session.home !== null) return;
    const stored = await store.getSession(session.id);
    if (stored !== null && stored.nodeId !== nodeId) {
      void this.#parts.moves().rejoin(session, { home: stored.nodeId, epoch: stored.epoch });
      return;
    }
    const { id, credentialId } = session;
    const put = await store.putSession({ id, nodeId, credentialId, doc: sessionRecord(session) });
    if (put === null) throw new Error('the session has moved in the meantime');
    session.epoch = put.epoch;
    for (const tunnel of [...session.tunnels.values()]) await this.#claimAgain(session, tunnel);
    if (!session.isEnded) this.#parts.life().routeAll(session);
  }

  async #compareAll(): Promise<void> {
    const { cluster, life } = this.#parts;
    const nodeId = cluster.membership.self.id;
    const [sessions, claims] = await Promise.all([cluster.store.sessionsOf(nodeId), cluster.store.claimsOf(nodeId)]);
    const epochs = new Map(sessions.map(({ id, epoch }) => [id, epoch]));
    const owned = new Map(claims.map(({ key, sessionId }) => [key, sessionId]));
    for (const session of [...life().all.values()]) {
      if (session.home !== null || session.isEnded) continue;
      if (epochs.get(session.id) !== session.epoch) {
        await this.compareOne(session);
        continue;
      }
      for (const tunnel of [...session.tunnels.values()]) {
        const isOwned = tunnel.claimKeys.every((key) => owned.get(key) === session.id);
        if (!isOwned) await this.#claimAgain(session, tunnel);
      }
    }
  }

  async #claimAgain(session: AgentSession, tunnel: BoundTunnel): Promise<void> {
    const { cluster, life } = this.#parts;
    for (const key of tunnel.claimKeys) {
      const { id: sessionId, credentialId } = session;
      const outcome = await cluster.store.claim({ key, sessionId, credentialId, nodeId: cluster.membership.self.id });
      if (outcome.ok) continue;
      if (outcome.holder === null) throw new Error('the lease of this node has ended');
      const message = `${key.slice(key.indexOf(' ') + 1)} was taken over by another agent while this node had no contact with the database`;
      const code = tunnel.host === null ? 'ERR_POSTERN_TUNNEL_PORT' : 'ERR_POSTERN_TUNNEL_NAME_TAKEN';
      session.connections[0]?.send({ t: 'unbound', ref: tunnel.ref, code, message, retry: true });
      await life().endTunnel(tunnel);
      return;
    }
  }
}
