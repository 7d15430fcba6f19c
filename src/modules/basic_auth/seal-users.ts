import { createHmac, randomBytes } from 'node:crypto';
import { MissingPart } from '../../lib/async/missing-part.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import type { SealContext, Sealed } from '../contract/module.ts';
import { hashPassword, isPasswordOf } from '../login/passwords/password-hash.ts';
import { type BasicAuthConfig, sameName } from './config.ts';

/**
 * A change asks for all of its passwords again after each of its routes: with fewer than it has, it would compute them
 * forever. As many as this take two hours to compute, and 25 MB.
 */
const MAX_COMPUTED = 100_000;

/**
 * Replaces passwords by their hashes. A password that is the stored one keeps its hash, so that sending it again changes
 * nothing; an empty one keeps the hash of the same user. Hashes are computed in the thread pool, one at a time: the
 * caller waits for them and asks again.
 */
export class UserSeal {
  /** By a digest under a key of this process. */
  readonly #computed = new LruMap<string, string>(MAX_COMPUTED);
  readonly #key = randomBytes(32);
  readonly #hash: typeof hashPassword;
  #last: Promise<unknown> = Promise.resolve();

  constructor(hash = hashPassword) {
    this.#hash = hash;
  }

  seal(config: BasicAuthConfig, { stored, seed }: SealContext<BasicAuthConfig>): Sealed<BasicAuthConfig> {
    const before = new Map(stored?.users.map(({ username, password = '' }) => [sameName(username), password]));
    const problems: FieldProblem[] = [];
    const missing: (() => Promise<void>)[] = [];
    const users = config.users.map(({ username, password = '' }, at) => {
      const known = before.get(sameName(username)) ?? '';
      if (password === '') {
        if (known === '') problems.push({ path: `/users/${at}/password`, message: MISSING });
        return { username, password: known };
      }
      const sent = password.normalize('NFC');
      const digest = this.#digest([username, sent, known, seed ?? '']);
      const hash = this.#computed.get(digest);
      if (hash === undefined) {
        const salted = seed === null ? null : `${seed} ${username}`;
        missing.push(async () => {
          const isSame = known !== '' && (await isPasswordOf(sent, known));
          this.#computed.set(digest, isSame ? known : await this.#hash(sent, salted));
        });
      }
      return { username, password: hash ?? '' };
    });
    if (problems.length > 0) return { problems };
    if (missing.length > 0) throw new MissingPart(this.#compute(missing));
    return { config: { ...config, users } };
  }

  #compute(missing: readonly (() => Promise<void>)[]): Promise<void> {
    const computing = this.#last.then(async () => {
      for (const compute of missing) await compute();
    });
    this.#last = computing.catch(() => {});
    return computing;
  }

  #digest(parts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('base64url');
  }
}

const MISSING = 'is missing: a new user needs a password. An empty one keeps the password of a user of the same name';
