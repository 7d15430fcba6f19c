import { hash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Turns } from '../../kit/async/turns.ts';
import type { Clock } from '../../kit/clock.ts';
import { LruMap } from '../../kit/lru-map.ts';
import { ownerOf, SharedPlaces } from '../../kit/net/shared-places.ts';
import { type AttemptLimits, LoginAttempts, type TooManyAttempts, widestNetworkOf } from './flow/login-attempts.ts';

/** 32 MiB and about 60 ms per guess: docs/internals/decisions/0085-passwords-of-sites.md says why not more. */
const COST = 'ln=15,r=8,p=1';
/** For hashes that are never stored, such as those of agents' tunnels: all agents of a server may connect at once. */
const COST_IN_MEMORY = 'ln=12,r=8,p=1';
const KEY_BYTES = 32;
const SALT_BYTES = 16;

const FORM = /^\$scrypt\$(ln=\d{1,2},r=\d{1,2},p=\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/** Runs in the thread pool. */
const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** A hash in PHC form. With a seed, every thread computes the same one: for hashes that are not stored. */
export async function hashPassword(password: string, seed: string | null): Promise<string> {
  const cost = seed === null ? COST : COST_IN_MEMORY;
  const salt = seed === null ? randomBytes(SALT_BYTES) : hash('sha256', seed, 'buffer').subarray(0, SALT_BYTES);
  return written(cost, salt, await derive(password, salt, KEY_BYTES, optionsOf(cost)));
}

/** Takes as long for every password. A text that is no hash of ours is nobody's. */
export async function isPasswordOf(password: string, hashed: string): Promise<boolean> {
  const [, cost, salt = '', key = ''] = FORM.exec(hashed) ?? [];
  if (cost === undefined) return false;
  const found = await derive(password, Buffer.from(salt, 'base64'), KEY_BYTES, optionsOf(cost));
  return timingSafeEqual(found, Buffer.from(key, 'base64'));
}

export function isHash(text: string): boolean {
  return FORM.test(text);
}

/** A hash of no password, as costly to compare with as `like`: an unknown user must not be answered faster. */
export function hashOfNobody(like = ''): string {
  const [, cost = COST] = FORM.exec(like) ?? [];
  return written(cost, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));
}

function optionsOf(cost: string): ScryptOptions {
  const [ln = 0, r = 0, p = 0] = (cost.match(/\d+/g) ?? []).map(Number);
  // 128 · N · r bytes, and some more that OpenSSL counts.
  return { N: 2 ** ln, r, p, maxmem: 2 ** ln * r * 128 + 2 ** 20 };
}

function written(cost: string, salt: Buffer, key: Buffer): string {
  return `$scrypt$${cost}$${base64(salt)}$${base64(key)}`;
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

/** Hashes computed at once: the thread pool has four threads, which names and files need too. */
const MAX_RUNNING = 2;
/** At 60 ms each, the last one waits two seconds, and the first one of another address for two hashes. */
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
 * the number of hashes in progress is bounded, and shared among addresses, which get their turns in rotation.
 */
export class PasswordChecks {
  readonly #attempts: LoginAttempts;
  readonly #known = new LruMap<string, true>(MAX_KNOWN);
  /** Browsers send the same header in many requests at once. */
  readonly #running = new Map<string, Promise<PasswordVerdict>>();
  readonly #turns = new Turns(MAX_RUNNING, MAX_WAITING);
  /** Checks that run or wait. An address may make nearly as many attempts in a minute. */
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
      .run(() => isPasswordOf(claim.password, claim.hash), ownerOf(clientAddress))
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
