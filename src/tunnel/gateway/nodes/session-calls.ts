import { type PeerMessage, PeerRefusal } from '../../nodes/links/peer-links.ts';
import type { CommandOutcome } from '../agent-requests.ts';
import type { ClusterPorts } from '../ports.ts';
import type { SessionLife } from '../session-life.ts';
import type { TunnelNames, TunnelPorts } from '../tunnel-names.ts';
import type { ReservedNames, StoredClaims } from './stored-claims.ts';

const COMMAND_WITHIN_MS = 6_000;

export type SessionCommand = 'stop' | 'restart' | 'update';

interface SessionCallsParts {
  readonly cluster: ClusterPorts;
  readonly life: () => SessionLife;
  readonly names: () => TunnelNames;
  readonly tcpPorts: () => TunnelPorts;
  readonly claims: StoredClaims;
  readonly reserved: ReservedNames;
  commandHere(sessionId: string, command: SessionCommand): Promise<CommandOutcome>;
}

/** Requests of other nodes to the home of a session: to give up a name, and to send a command to the agent. */
export class SessionCalls {
  readonly #parts: SessionCallsParts;

  constructor(parts: SessionCallsParts) {
    this.#parts = parts;
    const { links } = parts.cluster;
    links.serve('session.yield', (message) => this.#yield(message));
    links.serve('session.command', async ({ session, command }) => {
      if (typeof session !== 'string' || !isCommand(command)) {
        throw new PeerRefusal('peer_message', 'a message has a wrong field');
      }
      const outcome = await parts.commandHere(session, command);
      return typeof outcome === 'string' ? { outcome } : { outcome: 'refused', message: outcome.refused };
    });
  }

  /** Sends the command to the session's home. */
  async command(sessionId: string, command: SessionCommand): Promise<CommandOutcome> {
    const { cluster, life } = this.#parts;
    const home = life().all.get(sessionId)?.home ?? cluster.directory.session(sessionId)?.session.homeNodeId;
    if (home === undefined || home === null) return 'unreachable';
    try {
      const message = { session: sessionId, command };
      const answer = await cluster.links.call(home, 'session.command', message, COMMAND_WITHIN_MS);
      const { outcome, message: refused } = answer;
      if (outcome === 'refused') return { refused: typeof refused === 'string' ? refused : '' };
      return outcome === 'accepted' ? 'accepted' : 'unreachable';
    } catch {
      return 'unreachable';
    }
  }

  /** The rules are those of one node: an agent that answers keeps the name or port, a silent agent loses it. */
  async #yield({ key, session, credential }: PeerMessage): Promise<PeerMessage> {
    const { cluster, names, tcpPorts, claims } = this.#parts;
    if (typeof key !== 'string' || typeof session !== 'string' || typeof credential !== 'string') {
      throw new PeerRefusal('peer_message', 'a message has a wrong field');
    }
    const claimant = { id: session, credentialId: credential };
    const named = key.slice(key.indexOf(' ') + 1);
    const freed = key.startsWith('port ')
      ? await tcpPorts().free(claimant, Number(named))
      : await names().free(claimant, named, 'https');
    if (freed !== null && 'code' in freed) throw new PeerRefusal(freed.code, freed.message);
    await claims.settled(key);
    const nodeId = cluster.membership.self.id;
    let left = await cluster.store.getClaim(key);
    if (left?.nodeId === nodeId) {
      const refused = await this.#parts.reserved.free(claimant, left.sessionId, key);
      if (refused !== null) throw new PeerRefusal(refused.code, refused.message);
      await claims.settled(key);
      left = await cluster.store.getClaim(key);
    }
    if (left?.nodeId === nodeId && !claims.isOwned(left.sessionId, key)) {
      await cluster.store.release({ sessionId: left.sessionId, nodeId }, [key]);
    }
    return {};
  }
}

function isCommand(value: unknown): value is SessionCommand {
  return value === 'stop' || value === 'restart' || value === 'update';
}
