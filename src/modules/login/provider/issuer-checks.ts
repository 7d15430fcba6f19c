import { atMost } from '../../../lib/async/deadline.ts';
import type { Clock } from '../../../lib/clock.ts';
import { messageOf } from '../../../lib/error-text.ts';

/** A provider that answered is asked again after this time, one that did not sooner. */
const GOOD_FOR_MS = 60_000;
const BAD_FOR_MS = 10_000;
/** The list of problems does not wait longer for providers. */
const WAIT_MS = 2_000;
const MAX_ISSUERS = 100;

interface Checked {
  readonly running: Promise<void>;
  /** Null while it is being asked for the first time. */
  result: { readonly atMs: number; readonly problem: string | null } | null;
}

/** Asks providers whether people could log in there, when somebody wants to know. */
export class IssuerChecks {
  readonly #discover: (issuer: string) => Promise<unknown>;
  readonly #clock: Clock;
  readonly #checked = new Map<string, Checked>();

  constructor(discover: (issuer: string) => Promise<unknown>, clock: Clock) {
    this.#discover = discover;
    this.#clock = clock;
  }

  /** Why providers cannot be asked, by issuer; without those that can, or that take too long to answer. */
  async problems(issuers: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const wanted = issuers.slice(0, MAX_ISSUERS);
    for (const issuer of this.#checked.keys()) if (!wanted.includes(issuer)) this.#checked.delete(issuer);
    const running = wanted.map((issuer) => this.#fresh(issuer).running);
    await atMost(Promise.all(running), WAIT_MS, null);
    const known = wanted.map((issuer) => [issuer, this.#checked.get(issuer)?.result?.problem ?? null] as const);
    return new Map(known.filter((entry): entry is [string, string] => entry[1] !== null));
  }

  #fresh(issuer: string): Checked {
    const known = this.#checked.get(issuer);
    if (known !== undefined && !this.#isDue(known)) return known;
    const checked: Checked = {
      result: known?.result ?? null,
      running: this.#ask(issuer, (result) => {
        checked.result = result;
      }),
    };
    this.#checked.set(issuer, checked);
    return checked;
  }

  #isDue({ result }: Checked): boolean {
    if (result === null) return false;
    const ageMs = this.#clock.nowMs() - result.atMs;
    return ageMs < 0 || ageMs >= (result.problem === null ? GOOD_FOR_MS : BAD_FOR_MS);
  }

  async #ask(issuer: string, done: (result: NonNullable<Checked['result']>) => void): Promise<void> {
    const problem = await this.#discover(issuer).then(() => null, messageOf);
    done({ atMs: this.#clock.nowMs(), problem });
  }
}
