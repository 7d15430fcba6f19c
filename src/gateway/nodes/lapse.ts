import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentSession } from '../agent-session.ts';
import type { BoundTunnel } from '../bound-tunnel.ts';
import type { GatewayPorts } from '../ports.ts';
import type { RightToServe } from '../right-to-serve.ts';
import type { SessionLife } from '../session-life.ts';
import type { ClusterPorts } from './cluster-ports.ts';
import type { SessionMoves } from './session-moves.ts';
import { sessionRecord } from './session-record.ts';

const AGAIN_MS = 300;

interface LapseParts {
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
export class Lapse implements RightToServe {
  readonly #parts: LapseParts;
  #round = 0;
  #isComparing = false;

  constructor(parts: LapseParts) {
    this.#parts = parts;
    // The membership waits for the comparison before this node serves names again.
    parts.cluster.membership.onLapse((isDoubtful) => this.compare(isDoubtful));
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
        this.#parts.ports.log.warn({ err }, 'failed to compare sessions with the store after a lapse');
        await sleep(AGAIN_MS, undefined, { ref: false });
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
