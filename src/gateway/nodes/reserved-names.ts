import { nameKey, portKey } from '../bound-tunnel.ts';
import type { ClaimRefusal, Claims, SessionRecords } from '../claims.ts';
import type { SessionLife } from '../session-life.ts';
import { type Claimant, HOLDER_ANSWERS_WITHIN_MS } from '../tunnel-names.ts';
import { portTaken } from '../tunnel-ports.ts';

interface ReservedNamesParts {
  readonly life: () => SessionLife;
  readonly claims: () => Claims;
  readonly records: SessionRecords;
}

/**
 * Names of sessions that this node took over from a lost node, and that their agents have not bound again. The rules of
 * bound names apply: a connected agent keeps its name. An agent that is not connected loses the name to another agent
 * with the same credential.
 */
export class ReservedNames {
  readonly #parts: ReservedNamesParts;

  constructor(parts: ReservedNamesParts) {
    this.#parts = parts;
  }

  /** Null: that session does not reserve the key, or no longer does. */
  async free(claimant: Claimant, sessionId: string, key: string): Promise<ClaimRefusal | null> {
    const { life, claims, records } = this.#parts;
    const other = life().all.get(sessionId);
    const reserved = other?.reserved
      .values()
      .find(({ host, port }) => (host === null ? port !== null && portKey(port) === key : nameKey(host) === key));
    if (other === undefined || reserved === undefined || other.id === claimant.id || other.home !== null) return null;
    const { host, port } = reserved;
    const isKept = other.isOnline && !other.isSentAway;
    if (host === null) {
      const isTaken =
        other.credentialId !== claimant.credentialId || (isKept && (await other.isAlive(HOLDER_ANSWERS_WITHIN_MS)));
      if (isTaken) return portTaken(port ?? 0);
    } else if (other.credentialId !== claimant.credentialId) {
      return taken(`${host} is held by an agent with another credential: use another name`);
    }
    if (other.isOnline) {
      if (host !== null && isKept && (await other.isAlive(HOLDER_ANSWERS_WITHIN_MS))) {
        const who = `another agent with this credential (session ${other.id})`;
        return taken(`${host} is held by ${who}: stop that one first, or use another name`);
      }
      const reason = 'another agent took over its name or port because this one no longer responded';
      await life().end(other, 'ERR_POSTERN_AGENT_REPLACED', reason, other.isSentAway);
      return null;
    }
    if (!other.reserved.delete(reserved.id)) return null;
    claims().release(other, [key], Promise.resolve());
    records.changed(other);
    return null;
  }
}

function taken(message: string): ClaimRefusal {
  return { code: 'ERR_POSTERN_TUNNEL_NAME_TAKEN', message, retry: true };
}
