import { Turns } from '../../../lib/async/turns.ts';
import type { Clock } from '../../../lib/clock.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import { SharedPlaces } from '../../../lib/net/shared-places.ts';
import { widestNetworkOf } from '../flow/client-networks.ts';
import { type AttemptLimits, LoginAttempts, type TooManyAttempts } from '../flow/login-attempts.ts';
import { isPasswordOf } from './password-hash.ts';

/** Hashes computed at once: the thread pool has four threads, which names and files need too. */
const MAX_RUNNING = 2;
/** At 60 ms each, the last one waits two seconds. */
const MAX_WAITING = 64;
/** Digests of headers that were right: 1 MB. Only right ones are here, so guesses evict nothing. */
const MAX_KNOWN = 10_000;

/** What somebody sent as a user's password. */
export interface PasswordClaim {
  readonly password: string;
  readonly hash: string;
  /** Keyed digest of the header and the hash: the same only for the same password of the same user. */
  readonly digest: string;
  /** Stands for the user name in the budgets. */
  readonly slot: string;
  readonly clientAddress: string;
}

export type PasswordVerdict = 'right' | 'wrong' | 'busy' | TooManyAttempts;

/**
 * Compares passwords with their hashes, for all threads of the server. A password that was right before costs nothing
 * and no budget can keep it out. Any other is counted against the address and the user name before it is hashed, and
 * the number of hashes in progress is bounded, and shared among addresses.
 */
export class PasswordChecks {
  readonly #attempts: LoginAttempts;
  readonly #known = new LruMap<string, true>(MAX_KNOWN);
  /** Browsers send the same header in many requests at once. */
  readonly #running = new Map<string, Promise<PasswordVerdict>>();
  readonly #turns = new Turns(MAX_RUNNING, MAX_WAITING);
  /** Those that run or wait. An address may make nearly as many attempts in a minute. */
  readonly #places = new SharedPlaces(MAX_RUNNING + MAX_WAITING);

  constructor(limits: AttemptLimits, clock: Clock) {
    this.#attempts = new LoginAttempts(limits, clock);
  }

  check(claim: PasswordClaim): PasswordVerdict | Promise<PasswordVerdict> {
    const { digest, slot, clientAddress } = claim;
    if (this.#known.get(digest) === true) return 'right';
    const running = this.#running.get(digest);
    if (running !== undefined) return running;
    const startedIn = widestNetworkOf(clientAddress);
    const attempt = this.#attempts.begin({ issuer: slot, clientAddress, startedIn, browser: null });
    if ('limit' in attempt) return attempt;
    if (this.#places.shortage(clientAddress) !== null) {
      attempt.unused();
      return 'busy';
    }
    const place = this.#places.enter(clientAddress);
    const checking = this.#turns
      .run(() => isPasswordOf(claim.password, claim.hash))
      .then((isRight): PasswordVerdict => {
        if (isRight) {
          attempt.succeeded();
          this.#known.set(digest, true);
        } else attempt.failed();
        return isRight ? 'right' : 'wrong';
      })
      .finally(() => {
        this.#places.leave(place);
        this.#running.delete(digest);
      });
    this.#running.set(digest, checking);
    return checking;
  }
}
