import { NODE_LEASE_MS } from './membership.ts';

/**
 * The own lease ends this much earlier than in the database, which rounds its clock to milliseconds and whose clock may
 * run slightly faster.
 */
const MARGIN_MS = 50;
/** A peer whose database answered more recently only failed to renew. */
const SILENT_MS = 400;
/** How long a peer's report that it has no database counts: it drops a silent link no earlier than this. */
const REPORT_VALID_MS = 1_000;
/** Heartbeats follow each other within this time, also when each of them times out. */
const FAILURE_VALID_MS = 2_500;
/** Nodes that come back with this one wait for the time of a lease before they take over, from their last report on. */
const RECOVERY_MS = 500;

export interface ServingRightPorts {
  readonly monotonicMs: () => number;
  /** Other nodes that were ready at the last reading. */
  readonly others: () => readonly string[];
  readonly isLinked: (nodeId: string) => boolean;
}

/**
 * Whether this node may serve names of agents, by its monotonic clock.
 *
 * *held*: its lease is valid. → *over*: the lease has ended. It serves only while its own heartbeats fail and every other
 * node reports that it has had no database since before that end: then nobody can have taken a name over. →
 * *recovering*: a renewal succeeded; what it owned is compared with the store. A node that was serving goes on for
 * half a second, any other waits. → *held*.
 */
export class ServingRight {
  readonly #ports: ServingRightPorts;
  /** While this is in the future, nothing else is asked. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** The end of the lease, also while recovering. */
  #leaseEndsMs = Number.NEGATIVE_INFINITY;
  #recoveringUntilMs: number | null = Number.NEGATIVE_INFINITY;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  readonly #reports = new Map<string, number>();

  constructor(ports: ServingRightPorts) {
    this.#ports = ports;
  }

  /** Called per request. */
  may(): boolean {
    const nowMs = this.#ports.monotonicMs();
    return nowMs < this.#heldUntilMs || this.#mayWithoutLease(nowMs);
  }

  /** Whether the lease is valid, also while it is compared with the store. */
  get hasLease(): boolean {
    return this.#ports.monotonicMs() < this.#leaseEndsMs;
  }

  get isRecovering(): boolean {
    return this.#recoveringUntilMs !== null;
  }

  /**
   * A renewal that was sent at this time succeeded. False: the lease had ended, by the database's clock or by this one.
   * An earlier renewal may have told the database so, and its answer was lost.
   */
  renewed(sentAtMs: number, hadLapsed: boolean): boolean {
    const isLapse = hadLapsed || sentAtMs >= this.#leaseEndsMs;
    const nowMs = this.#ports.monotonicMs();
    if (isLapse) this.#recoveringUntilMs = this.may() ? nowMs + RECOVERY_MS : nowMs;
    this.#leaseEndsMs = Math.max(this.#leaseEndsMs, sentAtMs + NODE_LEASE_MS - MARGIN_MS);
    if (this.#recoveringUntilMs === null) this.#heldUntilMs = this.#leaseEndsMs;
    else this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    this.#failedAtMs = Number.NEGATIVE_INFINITY;
    this.#reports.clear();
    return !isLapse;
  }

  /** Everything that this node owned was compared with the store. */
  recovered(): void {
    this.#recoveringUntilMs = null;
    this.#heldUntilMs = this.#leaseEndsMs;
  }

  /** A heartbeat failed. */
  failed(): void {
    this.#failedAtMs = this.#ports.monotonicMs();
  }

  /** A node reported that its database last answered this long ago. */
  reported(nodeId: string, sentAtMs: number, silentMs: number): void {
    const lastAnswerMs = this.#ports.monotonicMs() - silentMs;
    if (silentMs >= SILENT_MS && lastAnswerMs <= this.#leaseEndsMs) this.#reports.set(nodeId, sentAtMs);
    else this.#reports.delete(nodeId);
  }

  #mayWithoutLease(nowMs: number): boolean {
    if (this.#recoveringUntilMs !== null && nowMs < this.#recoveringUntilMs) return true;
    if (nowMs - this.#failedAtMs >= FAILURE_VALID_MS) return false;
    return this.#ports
      .others()
      .every(
        (id) =>
          nowMs - (this.#reports.get(id) ?? Number.NEGATIVE_INFINITY) < REPORT_VALID_MS && this.#ports.isLinked(id),
      );
  }
}
