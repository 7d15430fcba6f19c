import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedMutex } from '../../../kit/async/turns.ts';
import { within } from '../../../kit/async/waiting.ts';
import type { StoredClaim } from '../../../store/node-store.ts';
import { PeerRefusal } from '../../nodes/links/peer-links.ts';
import { type AgentSession, nameKey, portKey } from '../agent-session.ts';
import type { GatewayErrorCode } from '../errors.ts';
import type { ClusterPorts } from '../ports.ts';
import type { SessionLife } from '../session-life.ts';
import {
  type Claimant,
  type ClaimRefusal,
  type ClaimResult,
  type Claims,
  HOLDER_ANSWERS_WITHIN_MS,
  portTaken,
  type SessionRecords,
} from '../tunnel-names.ts';

/** Longest time to find the holder of a name, ask it, and fence it. */
const CLAIM_WITHIN_MS = 2_900;
const STORE_WITHIN_MS = 2_500;
/** A home waits up to 2 s for its agent to answer. */
const YIELD_WITHIN_MS = 2_800;
const AGAIN_MS = 50;
const RELEASE_AGAIN_MS = 1_000;

interface StoredClaimsParts extends Pick<ClusterPorts, 'membership' | 'links' | 'directory' | 'store'> {
  /** Whether a session of this home has a tunnel with the key. */
  hasTunnel(sessionId: string, key: string): boolean;
  /** Null: the key is free, or belongs to a tunnel that is bound. */
  freeReserved(session: AgentSession, holderId: string, key: string): Promise<ClaimRefusal | null>;
  onProblem(error: unknown): void;
}

interface WantedKey {
  readonly key: string;
  readonly what: string;
  readonly isChosen: boolean;
}

/** Claims in the store, so that a name or port has one owner on all nodes. */
export class StoredClaims implements Claims {
  readonly #parts: StoredClaimsParts;
  readonly #queue = new KeyedMutex();
  /** Sessions by the keys that this node claimed for them, also before their tunnels are complete. */
  readonly #owned = new Map<string, string>();
  #isClosed = false;

  constructor(parts: StoredClaimsParts) {
    this.#parts = parts;
  }

  claim(session: AgentSession, key: string, what: string, isChosen = false): Promise<ClaimResult> {
    return this.#queue.run(key, async () => {
      try {
        return await this.#claim(session, { key, what, isChosen });
      } catch (error) {
        this.#parts.onProblem(error);
        // The store may still carry out the claim.
        void this.#queue.run(key, () => this.#release(session.id, key));
        return storeAway(what);
      }
    });
  }

  release(session: AgentSession, keys: readonly string[], unserved: Promise<void>): void {
    for (const key of keys) {
      void this.#queue.run(key, async () => {
        await unserved;
        await this.#release(session.id, key);
      });
    }
  }

  isOwned(sessionId: string, key: string): boolean {
    return this.#owned.get(key) === sessionId || this.#parts.hasTunnel(sessionId, key);
  }

  settled(key: string): Promise<void> {
    return this.#queue.settled(key);
  }

  /** Stops retrying releases that the store did not take. */
  close(): void {
    this.#isClosed = true;
  }

  async #claim(session: AgentSession, wanted: WantedKey): Promise<ClaimResult> {
    const { key, what } = wanted;
    const { membership, store } = this.#parts;
    const deadline = performance.now() + CLAIM_WITHIN_MS;
    const claim = { key, sessionId: session.id, credentialId: session.credentialId, nodeId: membership.self.id };
    const linked = await this.#yieldLinked(session, wanted);
    if (linked !== null) return linked;
    for (;;) {
      const outcome = await within(store.claim(claim), STORE_WITHIN_MS, 'the database');
      if (outcome.ok) {
        this.#owned.set(key, session.id);
        return 'claimed';
      }
      const { holder, leaseLeftMs } = outcome;
      const leftMs = deadline - performance.now();
      if (holder === null) {
        if (leftMs <= 0) return storeAway(what);
        await sleep(AGAIN_MS);
        continue;
      }
      const result = await this.#holder(session, holder, { ...wanted, leaseLeftMs, leftMs });
      if (result !== null) return result;
    }
  }

  /** Null: claim again. */
  async #holder(
    session: AgentSession,
    holder: StoredClaim,
    { what, isChosen, leaseLeftMs, leftMs }: WantedKey & { readonly leaseLeftMs: number; readonly leftMs: number },
  ): Promise<ClaimResult | null> {
    const { membership, links, store } = this.#parts;
    if (isChosen) return taken(holder.key, `${what} is in use`);
    if (holder.nodeId === membership.self.id) {
      const refused = await this.#parts.freeReserved(session, holder.sessionId, holder.key);
      if (refused !== null) return refused;
      if (this.isOwned(holder.sessionId, holder.key)) return 'again';
      await within(
        store.release({ sessionId: holder.sessionId, nodeId: holder.nodeId }, [holder.key]),
        STORE_WITHIN_MS,
        'the database',
      );
      return null;
    }
    if (holder.credentialId !== session.credentialId) return otherCredential(holder.key, what);
    if (links.get(holder.nodeId) !== undefined) {
      const refused = await this.#yield(session, holder.key, holder.nodeId);
      if (refused !== null && refused !== 'silent') return refused;
      if (leftMs > 0) return null;
    } else if (leftMs > 0) {
      await sleep(Math.min(Math.max(leaseLeftMs, 0) + 5, leftMs));
      return null;
    }
    return notAnswering(holder.key, what);
  }

  /**
   * A linked node may serve although its lease has ended: it relies on other nodes to ask it before they claim. The
   * claim of a new name may be in the store only, and a claim that the store has lost in the directory only.
   */
  async #yieldLinked(session: AgentSession, { key, what, isChosen }: WantedKey): Promise<ClaimRefusal | null> {
    const { membership, links, store } = this.#parts;
    const holder = this.#announcedHolder(key) ?? (await within(store.getClaim(key), STORE_WITHIN_MS, 'the database'));
    if (holder === null || holder.sessionId === session.id || holder.nodeId === membership.self.id) return null;
    if (links.get(holder.nodeId) === undefined) return null;
    if (isChosen) return taken(key, `${what} is in use`);
    const refused = await this.#yield(session, key, holder.nodeId);
    // A node that answers pings may serve by its link alone, and relies on other nodes to ask it first.
    if (refused === 'silent') return links.get(holder.nodeId) === undefined ? null : notAnswering(key, what);
    return refused;
  }

  #announcedHolder(key: string): { readonly sessionId: string; readonly nodeId: string } | null {
    const { directory } = this.#parts;
    if (key.startsWith('port ')) return directory.nameHolder(key);
    const host = key.slice('name '.length);
    return directory.nameHolder(`tls ${host}`) ?? directory.nameHolder(`plain ${host}`);
  }

  /** Asks the holder's home. Null: the home has given the name up. */
  async #yield(session: AgentSession, key: string, nodeId: string): Promise<ClaimRefusal | 'silent' | null> {
    const { links } = this.#parts;
    const message = { key, session: session.id, credential: session.credentialId };
    try {
      await links.call(nodeId, 'session.yield', message, YIELD_WITHIN_MS);
      return null;
    } catch (error) {
      if (!(error instanceof PeerRefusal)) return 'silent';
      return { code: error.code as GatewayErrorCode, message: error.message, retry: true };
    }
  }

  async #release(sessionId: string, key: string): Promise<void> {
    const { store, membership } = this.#parts;
    // Earlier claims of the same session have ended by now, and later claims wait.
    if (this.#owned.get(key) === sessionId) this.#owned.delete(key);
    while (!this.#isClosed) {
      try {
        await store.release({ sessionId, nodeId: membership.self.id }, [key]);
        return;
      } catch (error) {
        this.#parts.onProblem(error);
        await sleep(RELEASE_AGAIN_MS, undefined, { ref: false });
      }
    }
  }
}

function storeAway(what: string): ClaimRefusal {
  const message = `the database of the server cannot be reached, so ${what} cannot be reserved: tunnels that are open go on, and the agent tries again`;
  return { code: 'ERR_POSTERN_GATEWAY_STORE', message, retry: true };
}

function taken(key: string, message: string): ClaimRefusal {
  const code = key.startsWith('port ') ? 'ERR_POSTERN_TUNNEL_PORT' : 'ERR_POSTERN_TUNNEL_NAME_TAKEN';
  return { code, message, retry: true };
}

function notAnswering(key: string, what: string): ClaimRefusal {
  const message = `${what} is held by an agent of this credential on another node, which does not answer: the agent tries again`;
  return taken(key, message);
}

function otherCredential(key: string, what: string): ClaimRefusal {
  if (key.startsWith('port ')) return portTaken(Number(key.slice('port '.length)));
  return taken(key, `${what} is held by an agent with another credential: use another name`);
}

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
      return reservedNameTaken(`${host} is held by an agent with another credential: use another name`);
    }
    if (other.isOnline) {
      if (host !== null && isKept && (await other.isAlive(HOLDER_ANSWERS_WITHIN_MS))) {
        const who = `another agent with this credential (session ${other.id})`;
        return reservedNameTaken(`${host} is held by ${who}: stop that one first, or use another name`);
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

function reservedNameTaken(message: string): ClaimRefusal {
  return { code: 'ERR_POSTERN_TUNNEL_NAME_TAKEN', message, retry: true };
}
