import { NODE_LEASE_MS } from './membership.ts';
import type { PeerWord } from './renewals.ts';

/**
 * The own lease ends this much earlier than in the database, which rounds its clock to milliseconds and whose clock may
 * run slightly faster.
 */
const MARGIN_MS = 50;
/** A peer whose database answered more recently has the database, and only failed to renew. */
const SILENT_MS = 400;
/** How long a peer's word that it has no database counts: a peer that regains the database waits for a lease's time. */
const SILENCE_VALID_MS = 1_300;
/** A peer drops a silent link after the time of a lease. */
const LONGEST_WORD_MS = 1_400;
/** Heartbeats follow each other within this time, also when each of them times out. */
const FAILURE_VALID_MS = 2_500;

interface ServingRightPorts {
  readonly monotonicMs: () => number;
  /** Other nodes that were ready at the last reading, or are linked. */
  readonly others: () => readonly string[];
  readonly isLinked: (nodeId: string) => boolean;
}

/**
 * Whether this node may serve names of agents, by its monotonic clock.
 *
 * *held*: the lease of this node is valid. → *over*: the lease has ended. This node serves while every other node is
 * linked and gives its word that it cannot have taken a name over since before the lease ended: the other node has had
 * no database, or its own link to this node was up all the time, and nodes ask linked nodes before they take a name
 * over. → *held* again, if this node was serving when a renewal succeeded. Otherwise → *doubtful*: other nodes may own
 * this node's names by now. Until everything that this node owned is compared with the store, this node serves only by
 * the word of all other nodes, about the time since before the doubt. → *held*.
 */
export class ServingRight {
  readonly #ports: ServingRightPorts;
  /** Until this time the lease alone decides. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** The end of the lease, also while doubtful. */
  #leaseEndsMs = Number.NEGATIVE_INFINITY;
  /** Until this time no other node can have owned this node's names. */
  #certainUntilMs = Number.NEGATIVE_INFINITY;
  #isDoubtful = true;
  #isRecovering = true;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  /** For each node, the time until which its word counts. */
  readonly #words = new Map<string, number>();

  constructor(ports: ServingRightPorts) {
    this.#ports = ports;
  }

  /** Called per request. */
  may(): boolean {
    const nowMs = this.#ports.monotonicMs();
    return nowMs < this.#heldUntilMs || this.#mayByWord(nowMs);
  }

  leftMs(): number {
    const nowMs = this.#ports.monotonicMs();
    const untilMs = this.#mayByWord(nowMs) ? this.#wordUntilMs() : nowMs;
    return Math.max(0, this.#heldUntilMs - nowMs, untilMs - nowMs);
  }

  /** Whether the lease is valid, also while names and sessions are compared with the store. */
  get hasLease(): boolean {
    return this.#ports.monotonicMs() < this.#leaseEndsMs;
  }

  /** The lease expired, and names and sessions of this node have not been compared with the store since. */
  get isRecovering(): boolean {
    return this.#isRecovering;
  }

  /** Other nodes may have taken over names and sessions of this node. */
  get isDoubtful(): boolean {
    return this.#isDoubtful;
  }

  /**
   * A renewal that was sent at `sentAtMs` succeeded. False: the lease had ended, by the database's clock or by this
   * node's clock. The database may have noted the expiry in an earlier renewal whose answer was lost.
   * `hasUnknownNodes`: there are nodes that this node did not count on, and that may have had the database.
   */
  renewed(
    sentAtMs: number,
    { hadExpired, hasUnknownNodes }: { hadExpired: boolean; hasUnknownNodes: boolean },
  ): boolean {
    const hasExpired = hadExpired || sentAtMs >= this.#leaseEndsMs;
    if (hasExpired) {
      this.#isDoubtful = hasUnknownNodes || !this.may();
      this.#isRecovering = true;
    }
    if (hasUnknownNodes) this.#certainUntilMs = Number.NEGATIVE_INFINITY;
    this.#leaseEndsMs = Math.max(this.#leaseEndsMs, sentAtMs + NODE_LEASE_MS - MARGIN_MS);
    this.#failedAtMs = Number.NEGATIVE_INFINITY;
    if (this.#isDoubtful) this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    else this.#hold();
    return !hasExpired;
  }

  /** Everything that this node owned was compared with the store. */
  recovered(): void {
    this.#isDoubtful = false;
    this.#isRecovering = false;
    this.#hold();
  }

  /** A heartbeat failed, or has no answer for too long. */
  failed(): void {
    this.#failedAtMs = this.#ports.monotonicMs();
  }

  /** A node's answer to a question that was sent at `sentAtMs`. */
  heard(nodeId: string, sentAtMs: number, { silentMs, linkedMs, keepsMs }: PeerWord): void {
    const nowMs = this.#ports.monotonicMs();
    const isSilent = silentMs >= SILENT_MS && nowMs - silentMs <= this.#certainUntilMs;
    const isLinked = nowMs - linkedMs <= this.#certainUntilMs;
    const validMs = Math.max(isSilent ? SILENCE_VALID_MS : 0, isLinked ? Math.min(keepsMs, LONGEST_WORD_MS) : 0);
    // Nodes that were replaced never answer again.
    for (const [id, untilMs] of this.#words) if (untilMs <= nowMs) this.#words.delete(id);
    this.#words.set(nodeId, sentAtMs + validMs);
  }

  #hold(): void {
    this.#heldUntilMs = this.#leaseEndsMs;
    this.#certainUntilMs = this.#leaseEndsMs;
  }

  #wordUntilMs(): number {
    const others = this.#ports.others();
    if (others.length === 0) return this.#failedAtMs + FAILURE_VALID_MS;
    return Math.min(...others.map((id) => this.#words.get(id) ?? 0));
  }

  #mayByWord(nowMs: number): boolean {
    const others = this.#ports.others();
    if (others.length === 0) return !this.#isDoubtful && nowMs - this.#failedAtMs < FAILURE_VALID_MS;
    return others.every((id) => nowMs < (this.#words.get(id) ?? 0) && this.#ports.isLinked(id));
  }
}

/**
 * The database is away when it has answered nothing for `NO_DATABASE_MS`, and a heartbeat has had no answer for
 * `OVERDUE_MS`. The first condition alone would hold for every heartbeat that takes a tenth of a second.
 */
const NO_DATABASE_MS = 500;
const OVERDUE_MS = 300;

/** How long the database has not answered this node. */
export class DatabaseSilence {
  readonly #monotonicMs: () => number;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  /** When the first heartbeat since the last answer was sent. */
  #sentAtMs = Number.POSITIVE_INFINITY;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  get ms(): number {
    return this.#monotonicMs() - this.#answeredAtMs;
  }

  get isAway(): boolean {
    return this.ms > NO_DATABASE_MS && this.#monotonicMs() - this.#sentAtMs > OVERDUE_MS;
  }

  sent(): void {
    this.#sentAtMs = Math.min(this.#sentAtMs, this.#monotonicMs());
  }

  answered(): void {
    this.#answeredAtMs = this.#monotonicMs();
    this.#sentAtMs = Number.POSITIVE_INFINITY;
  }
}
