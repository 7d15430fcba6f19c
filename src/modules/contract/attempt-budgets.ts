import { hash } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import { LruMap } from '../../kit/lru-map.ts';
import { type Attempt, type Callback, LoginAttempts, type TooManyAttempts } from '../login/flow/login-attempts.ts';
import { PasswordChecks, type PasswordClaim, type PasswordVerdict } from '../login/password-checks.ts';
import type { LoginSettings } from '../login/settings.ts';
import type { LoginRecords } from './login-store.ts';

export type BegunAttempt = Attempt | TooManyAttempts;

/** What clients may still try. One for all threads of a server, so another thread may have to be asked. */
export interface AttemptBudgets {
  /**
   * Permission to redeem the code of a login in progress, once: a callback that is sent a thousand times makes one
   * token request. Null when the state was already used. The limits come first: a flood of invented codes writes
   * nothing to the store.
   */
  redeem(callback: Callback, state: SpendableState): Promise<BegunAttempt | null>;
  /** An invented guest link: apart from logins, because any web page can make a browser open them. */
  guess(callback: Callback): BegunAttempt | Promise<BegunAttempt>;
  /** A password of a user, with a budget of its own: see PasswordChecks. */
  checkPassword(claim: PasswordClaim): PasswordVerdict | Promise<PasswordVerdict>;
}

/** The budgets of this thread, which all others use. */
export function attemptBudgets(
  settings: Pick<
    LoginSettings,
    | 'login_attempts_per_address'
    | 'login_attempts_per_issuer'
    | 'password_attempts_per_address'
    | 'password_attempts_per_user'
  >,
  logins: Pick<LoginRecords, 'claimOnce'>,
  clock: Clock,
): AttemptBudgets {
  const { login_attempts_per_address: perAddress, login_attempts_per_issuer: perIssuer } = settings;
  const attempts = new LoginAttempts({ perAddress, perIssuer }, clock);
  const guesses = new LoginAttempts({ perAddress, perIssuer: 0 }, clock);
  const passwords = new PasswordChecks(
    { perAddress: settings.password_attempts_per_address, perIssuer: settings.password_attempts_per_user },
    clock,
  );
  const states = new SpentStates(logins);
  return {
    redeem: async (callback, state) => {
      const claim = states.claimOfAnother(state);
      if (claim !== null) {
        await claim;
        return null;
      }
      // No await between check and claim: of concurrent copies only one starts an attempt.
      const attempt = attempts.begin(callback);
      if ('limit' in attempt) return attempt;
      let isFirst = false;
      try {
        isFirst = await states.spend(state);
      } finally {
        if (!isFirst) attempt.unused();
      }
      return isFirst ? attempt : null;
    },
    guess: (callback) => guesses.begin(callback),
    checkPassword: (claim) => passwords.check(claim),
  };
}

/** Replays of states used here cost no lookup in the store. */
const MAX_KNOWN = 10_000;

/** A login in progress: the `state` of its requests, and when it can no longer be used. */
export interface SpendableState {
  readonly state: string;
  readonly endsAtMs: number;
}

/**
 * Which logins in progress have been redeemed: each is valid for one token request, at one of the processes on a store.
 */
class SpentStates {
  readonly #records: Pick<LoginRecords, 'claimOnce'>;
  readonly #known = new LruMap<string, true>(MAX_KNOWN);
  readonly #claims = new Map<string, Promise<boolean>>();

  constructor(records: Pick<LoginRecords, 'claimOnce'>) {
    this.#records = records;
  }

  /**
   * The claim of another copy of the same callback, or null. It fails as that claim fails. A waiting copy does not
   * count against the limits of logins.
   */
  claimOfAnother({ state }: SpendableState): Promise<unknown> | null {
    return this.#known.get(state) === undefined ? (this.#claims.get(state) ?? null) : Promise.resolve();
  }

  /** True for the first caller only. Fails when the store is unavailable: then nothing is spent. */
  async spend({ state, endsAtMs }: SpendableState): Promise<boolean> {
    const claim = this.#records.claimOnce(`state:${hash('sha256', state)}`, endsAtMs);
    this.#claims.set(state, claim);
    try {
      const isFirst = await claim;
      this.#known.set(state, true);
      return isFirst;
    } finally {
      this.#claims.delete(state);
    }
  }
}
