import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../../kit/async/waiting.ts';
import type { SessionClaim, SessionsElsewhere } from '../admission.ts';
import { type LocalConnection, type RightToServe, sessionOfRecord } from '../agent-session.ts';
import type { ClusterPorts } from '../ports.ts';
import type { SessionLife } from '../session-life.ts';
import type { ClaimRefusal } from '../tunnel-names.ts';
import type { HolderSide } from './holder-side.ts';
import type { SessionMoves } from './session-moves.ts';

/** Less than the time in which the agent expects its welcome. */
const PATIENCE_MS = 8_000;
const STORE_WITHIN_MS = 2_500;
const FIND_WITHIN_MS = 1_000;
const AGAIN_MS = 100;

type Outcome = Awaited<ReturnType<SessionsElsewhere['admit']>>;

interface ElsewhereParts {
  readonly cluster: ClusterPorts;
  readonly life: () => SessionLife;
  readonly holderSide: HolderSide;
  readonly moves: SessionMoves;
  readonly right: RightToServe;
}

/** Connections for sessions of other homes: the home admits the connection, or this node becomes the home. */
export class Elsewhere implements SessionsElsewhere {
  readonly #parts: ElsewhereParts;

  constructor(parts: ElsewhereParts) {
    this.#parts = parts;
  }

  async admit(connection: LocalConnection, sessionId: string, claim: SessionClaim): Promise<Outcome> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    while (performance.now() < deadlineMs && !connection.isClosed) {
      const homeId = await this.#find(sessionId);
      const outcome =
        homeId === null
          ? await this.#fromStore(sessionId, claim)
          : await this.#atHome(connection, sessionId, claim, homeId);
      if (this.#parts.life().all.get(sessionId)?.home === null) return 'here';
      if (outcome !== 'unreachable' && outcome !== 'wait') return outcome;
      await sleep(AGAIN_MS, undefined, { ref: false });
    }
    const message = 'the node that has this session cannot be reached: the agent starts another one';
    return { code: 'ERR_POSTERN_AGENT_SESSION', message, retry: true };
  }

  /** A node that has handed the session over no longer knows the session. The directory follows a moment later. */
  async #atHome(connection: LocalConnection, sessionId: string, claim: SessionClaim, homeId: string) {
    const { holderSide, cluster } = this.#parts;
    const outcome = await holderSide.admit(connection, sessionId, claim, homeId);
    if (outcome !== 'unknown') return outcome;
    const stored = await within(cluster.store.getSession(sessionId), STORE_WITHIN_MS, 'the database').catch(() => null);
    return stored === null || stored.nodeId === homeId ? 'unknown' : 'wait';
  }

  /** A linked node that is the home of the session. No node announces offline sessions, so all nodes are asked. */
  async #find(sessionId: string): Promise<string | null> {
    const { cluster, life } = this.#parts;
    const known = life().all.get(sessionId)?.home ?? cluster.directory.session(sessionId)?.session.homeNodeId ?? null;
    if (known !== null && cluster.links.get(known) !== undefined) return known;
    const asked = [...cluster.links.all()].map(async ({ nodeId }) => {
      const answer = await cluster.links.call(nodeId, 'session.find', { session: sessionId }, FIND_WITHIN_MS);
      if (answer['found'] !== true) throw new Error('it does not have it');
      return nodeId;
    });
    return Promise.any(asked).catch(() => null);
  }

  /** `wait`: the session's home may be dead, or is not linked yet. */
  async #fromStore(sessionId: string, claim: SessionClaim): Promise<'wait' | 'here' | 'unknown' | ClaimRefusal> {
    const { cluster, life } = this.#parts;
    try {
      const stored = await within(cluster.store.getSession(sessionId), STORE_WITHIN_MS, 'the database');
      const session = stored === null ? null : sessionOfRecord(stored);
      if (stored === null || session === null) return 'unknown';
      if (session.credentialId !== claim.credentialId || !session.isSecret(claim.secret)) return 'unknown';
      // Another connection of the agent lives: the node with that connection takes the session over.
      if (claim.how === 'join') return 'wait';
      const move = cluster.store.moveSession(sessionId, stored.epoch, cluster.membership.self.id);
      const outcome = await within(move, STORE_WITHIN_MS, 'the database');
      if (!outcome.ok) return outcome.reason === 'absent' ? 'unknown' : 'wait';
      const copy = life().all.get(sessionId);
      if (copy !== undefined) {
        this.#parts.moves.promote(copy, outcome.session.epoch);
        return 'here';
      }
      session.epoch = outcome.session.epoch;
      session.right = this.#parts.right;
      life().all.set(sessionId, session);
      // The welcome follows. Without a welcome the session must end.
      life().awaitResume(session);
      return 'here';
    } catch {
      const message =
        'the database of the server cannot be reached, and no node that can be reached knows this session: the agent tries again';
      return { code: 'ERR_POSTERN_GATEWAY_STORE', message, retry: true };
    }
  }
}
