import type { Fault } from './faults.ts';

/** A fault counts as on until its effects must be over. */
export const HEALED_AFTER_MS = 3000;

export interface Failure {
  readonly kind: string;
  readonly atMs: number;
  readonly message: string;
  /** The fault that was on; null: none. */
  readonly fault: string | null;
}

/** These kinds of requests are checked for wrong answers only, so they must not make the share of failures smaller. */
const NEVER_FAIL: ReadonlySet<string> = new Set(['contended', 'echo']);

/** Everything that clients saw. */
export class Ledger {
  readonly counts = new Map<string, number>();
  readonly failures: Failure[] = [];
  /** Answers that nobody may ever get. */
  readonly wrong: string[] = [];
  /** 503 without the database, for what needs it. */
  refused = 0;
  /** Longest time without a successful probe, per tunnel and node. */
  readonly gapsMs: { readonly what: string; readonly ms: number; readonly fault: string | null }[] = [];
  readonly #beganMs = performance.now();
  #fault: Fault | null = null;
  #healedAtMs = 0;

  get atMs(): number {
    return performance.now() - this.#beganMs;
  }

  /** Requests that can fail. */
  get total(): number {
    return [...this.counts].reduce((sum, [kind, count]) => (NEVER_FAIL.has(kind) ? sum : sum + count), 0);
  }

  begin(fault: Fault): void {
    this.#fault = fault;
    this.#healedAtMs = Number.POSITIVE_INFINITY;
  }

  /** The fault itself is over; its effects may last a little longer. */
  heal(): void {
    this.#healedAtMs = performance.now();
  }

  get fault(): Fault | null {
    return performance.now() < this.#healedAtMs + HEALED_AFTER_MS ? this.#fault : null;
  }

  /** Nodes that the test has stopped. */
  get down(): Fault['down'] {
    return this.#healedAtMs === Number.POSITIVE_INFINITY ? (this.#fault?.down ?? []) : [];
  }

  ok(kind: string): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  /** `status` 503 of what needs the database, while it is away, is the documented answer. */
  failed(kind: string, message: string, status = 0): void {
    this.ok(kind);
    const { fault } = this;
    if (status === 503 && fault?.isWithoutDatabase === true) this.refused += 1;
    else this.failures.push({ kind, atMs: Math.round(this.atMs), message, fault: fault?.name ?? null });
  }

  describe(): string {
    const worst = this.gapsMs.toSorted((a, b) => b.ms - a.ms)[0];
    const share = ((100 * this.failures.length) / Math.max(1, this.total)).toFixed(3);
    return [
      `${this.total} requests ${JSON.stringify(Object.fromEntries(this.counts))}`,
      `${this.failures.length} failed (${share} %), ${this.refused} refused without the database, ${this.wrong.length} wrong`,
      `longest time that a tunnel was away from a node: ${worst === undefined ? 0 : Math.round(worst.ms)} ms (${worst?.what}, ${worst?.fault})`,
    ].join('\n');
  }
}
