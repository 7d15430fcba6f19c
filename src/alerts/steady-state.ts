import type { Finding } from './alert-kind.ts';

export interface SteadyTimes {
  readonly raiseAfterMs: number;
  readonly resolveAfterMs: number;
}

/**
 * Turns what one look after the other found into decisions that do not flap: something is raised after it was bad for a
 * while, without being well in between, and resolved after it was well for a while.
 */
export class SteadyState {
  readonly #badSince = new Map<string, number>();
  readonly #wellSince = new Map<string, number>();

  /** Findings to raise: those that are bad now, and have been for long enough. */
  toRaise(findings: readonly Finding[], raised: ReadonlySet<string>, nowMs: number, times: SteadyTimes): Finding[] {
    const named = new Map(findings.map((finding) => [finding.subject, finding]));
    for (const subject of this.#badSince.keys()) {
      if ((named.get(subject)?.state ?? 'well') === 'well') this.#badSince.delete(subject);
    }
    return findings.filter(({ subject, state }) => {
      if (state !== 'bad') return false;
      const since = this.#badSince.get(subject) ?? nowMs;
      this.#badSince.set(subject, since);
      return !raised.has(subject) && nowMs - since >= times.raiseAfterMs;
    });
  }

  /** Raised subjects that are well now, and have been for long enough. */
  toResolve(findings: readonly Finding[], raised: ReadonlySet<string>, nowMs: number, times: SteadyTimes): string[] {
    const states = new Map(findings.map(({ subject, state }) => [subject, state]));
    for (const subject of this.#wellSince.keys()) {
      if (!raised.has(subject) || states.get(subject) === 'bad') this.#wellSince.delete(subject);
    }
    return [...raised].filter((subject) => {
      if ((states.get(subject) ?? 'well') !== 'well') return false;
      const since = this.#wellSince.get(subject) ?? nowMs;
      this.#wellSince.set(subject, since);
      return nowMs - since >= times.resolveAfterMs;
    });
  }

  /** Another process looks from now on. */
  forget(): void {
    this.#badSince.clear();
    this.#wellSince.clear();
  }
}
