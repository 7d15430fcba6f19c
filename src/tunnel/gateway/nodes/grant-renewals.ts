import { setTimeout as sleep } from 'node:timers/promises';
import { type PeerMessage, PeerUnreachable } from '../../nodes/links/peer-links.ts';
import type { AgentSession } from '../agent-session.ts';
import type { ClusterPorts } from '../ports.ts';
import type { SessionLife } from '../session-life.ts';
import type { HolderSide } from './holder-side.ts';
import { stringsOf } from './join-message.ts';
import type { SessionMoves } from './session-moves.ts';

const ASK_EVERY_MS = 300;
/** A link that is silent for longer is doubtful: the next attempt goes over another node, while the grant is valid. */
const ANSWER_WITHIN_MS = 400;
/** About 30 KB of ids. */
const IDS_PER_CALL = 1_000;
/** After this time a copy whose connection never came is dropped. */
const UNUSED_AFTER_MS = 6_000;
/** After this time without a link to a home that still renews its lease, the agent connects again. */
const LINKLESS_MS = 8_000;
const STORE_AGAIN_MS = 300;
/** A home that answered over another node within this time is alive. This time is shorter than a lease. */
const RELAY_VALID_MS = 700;
/** Sessions of a lost home that are taken over at a time. */
const ADOPTED_AT_A_TIME = 16;

interface GrantRenewalParts {
  readonly cluster: ClusterPorts;
  readonly life: () => SessionLife;
  readonly holderSide: () => HolderSide;
  readonly moves: () => SessionMoves;
  onProblem(error: unknown): void;
}

/** Renews this node's right to serve sessions of other homes, and takes the sessions over when their home is lost. */
export class GrantRenewals {
  readonly #parts: GrantRenewalParts;
  readonly #timer: NodeJS.Timeout;
  readonly #asking = new Set<string>();
  readonly #adopting = new Set<string>();
  /** When each home last answered over another node. */
  readonly #relayedAtMs = new Map<string, number>();
  readonly #unusedSinceMs = new WeakMap<AgentSession, number>();
  #isClosed = false;

  constructor(parts: GrantRenewalParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.renew(), ASK_EVERY_MS).unref();
    parts.cluster.links.onDown(({ nodeId }) => void this.#adoptAll(nodeId));
  }

  /** Asks every home now. */
  renew(): void {
    const homes = new Map<string, AgentSession[]>();
    for (const session of [...this.#parts.life().all.values()]) {
      if (session.home === null || !this.#parts.moves().isSettled(session)) continue;
      if (session.local.length === 0) {
        this.#dropUnused(session);
        continue;
      }
      const list = homes.get(session.home);
      if (list === undefined) homes.set(session.home, [session]);
      else list.push(session);
    }
    for (const [homeId, sessions] of homes) void this.#ask(homeId, sessions);
  }

  forgetGone(isGone: (nodeId: string) => boolean): void {
    for (const nodeId of [...this.#relayedAtMs.keys()]) if (isGone(nodeId)) this.#relayedAtMs.delete(nodeId);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  #dropUnused(session: AgentSession): void {
    const sinceMs = this.#unusedSinceMs.get(session);
    if (sinceMs === undefined) this.#unusedSinceMs.set(session, performance.now());
    else if (performance.now() - sinceMs > UNUSED_AFTER_MS) this.#parts.holderSide().drop(session);
  }

  async #ask(homeId: string, sessions: readonly AgentSession[]): Promise<void> {
    const { holderSide, life, moves } = this.#parts;
    if (this.#asking.has(homeId)) return;
    this.#asking.add(homeId);
    try {
      const gone: string[] = [];
      let askedAtMs = Number.POSITIVE_INFINITY;
      let grantMs = Number.POSITIVE_INFINITY;
      let leaseMs = Number.POSITIVE_INFINITY;
      for (let at = 0; at < sessions.length; at += IDS_PER_CALL) {
        const ids = sessions.slice(at, at + IDS_PER_CALL).map(({ id }) => id);
        const { answer, sentAtMs } = await this.#hold(homeId, ids);
        askedAtMs = Math.min(askedAtMs, sentAtMs);
        gone.push(...stringsOf(answer['gone']));
        grantMs = Math.min(grantMs, Number(answer['grant_ms'] ?? 0));
        leaseMs = Math.min(leaseMs, Number(answer['lease_ms'] ?? 0));
      }
      // Sessions that end come first: the grant does not cover them.
      for (const id of gone) {
        const session = life().all.get(id);
        if (session?.home === homeId && sessions.includes(session) && moves().isSettled(session)) {
          void this.#gone(session);
        }
      }
      holderSide().grantOf(homeId).extend(askedAtMs, { grant_ms: grantMs, lease_ms: leaseMs });
    } catch {
      // No node reaches the home: this node takes the home's sessions over as soon as the home's lease has ended.
      if (this.#parts.cluster.links.get(homeId) === undefined) void this.#adoptAll(homeId);
    } finally {
      this.#asking.delete(homeId);
    }
  }

  /** Asks over another node when the link is gone or silent: the link between two live nodes may be broken. */
  async #hold(homeId: string, ids: string[]): Promise<{ readonly answer: PeerMessage; readonly sentAtMs: number }> {
    const { links } = this.#parts.cluster;
    const message = { sessions: ids };
    if (links.get(homeId) !== undefined) {
      const sentAtMs = performance.now();
      try {
        return { answer: await links.call(homeId, 'session.hold', message, ANSWER_WITHIN_MS), sentAtMs };
      } catch (error) {
        if (!(error instanceof PeerUnreachable)) throw error;
      }
    }
    const sentAtMs = performance.now();
    const answer = await links.relay(homeId, 'session.hold', message, ANSWER_WITHIN_MS);
    this.#relayedAtMs.set(homeId, performance.now());
    return { answer, sentAtMs };
  }

  /** The home is alive, and only the link to it is broken. */
  #isRelayed(homeId: string): boolean {
    return performance.now() - (this.#relayedAtMs.get(homeId) ?? Number.NEGATIVE_INFINITY) < RELAY_VALID_MS;
  }

  /** The home denies this node the session: the session has moved, or the home has lost track of this node. */
  async #gone(session: AgentSession): Promise<void> {
    const { moves, holderSide } = this.#parts;
    session.right = { mayServe: () => false };
    const isFollowed = await moves()
      .follow(session)
      .catch(() => false);
    if (!isFollowed && !session.isEnded && session.home !== null) {
      holderSide().sendBack(session, 'the session has moved to another node or has ended: the agent connects again');
    }
  }

  async #adoptAll(homeId: string): Promise<void> {
    if (this.#adopting.has(homeId) || this.#isClosed) return;
    const mine = [...this.#parts.life().all.values()].filter(({ home }) => home === homeId);
    if (mine.length === 0) return;
    this.#adopting.add(homeId);
    const sinceMs = performance.now();
    const workers = Array.from({ length: ADOPTED_AT_A_TIME }, async () => {
      for (let session = mine.pop(); session !== undefined; session = mine.pop()) {
        await this.#adopt(session, homeId, sinceMs);
      }
    });
    await Promise.all(workers);
    this.#adopting.delete(homeId);
  }

  async #adopt(session: AgentSession, homeId: string, lostAtMs: number): Promise<void> {
    const { cluster, holderSide, moves } = this.#parts;
    const { store, links, membership } = cluster;
    let sinceMs = lostAtMs;
    while (!this.#isClosed && session.home === homeId && !session.isEnded && links.get(homeId) === undefined) {
      try {
        if (this.#isRelayed(homeId)) {
          sinceMs = performance.now();
          await sleep(ASK_EVERY_MS, undefined, { ref: false });
          continue;
        }
        const outcome = await store.moveSession(session.id, session.epoch, membership.self.id);
        if (session.home !== homeId || session.isEnded) return;
        if (outcome.ok) {
          moves().promote(session, outcome.session.epoch);
          return;
        }
        if (outcome.reason === 'held') {
          if (performance.now() - sinceMs > LINKLESS_MS) {
            holderSide().sendBack(session, 'the node that has the session cannot be reached: the agent connects again');
            return;
          }
          await sleep(Math.min(Math.max(outcome.leaseLeftMs, 0) + 5, ASK_EVERY_MS), undefined, { ref: false });
          continue;
        }
        if (outcome.reason === 'absent' || !(await moves().follow(session))) {
          holderSide().sendBack(session, 'the session has ended: the agent connects again');
        }
        return;
      } catch (error) {
        this.#parts.onProblem(error);
        await sleep(STORE_AGAIN_MS, undefined, { ref: false });
      }
    }
  }
}
