import { createHmac, randomBytes } from 'node:crypto';
import type { Static } from 'typebox';
import Type from 'typebox';
import { MissingPart } from '../../kit/load-part.ts';
import { LruMap } from '../../kit/lru-map.ts';
import { MAX_PASSWORD, MIN_PASSWORD } from '../../kit/net/field-rules.ts';
import { secret } from '../../kit/schema/annotations.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import { enabledField, type SealContext, type Sealed } from '../contract/module.ts';
import { hashPassword, isPasswordOf } from '../login/password-checks.ts';
import { isCredentialText } from './basic-auth-runtime.ts';

const MAX_USERS = 20;
const MAX_NAME = 128;

export const basicAuthConfig = Type.Object({
  enabled: enabledField,
  options_passthrough: Type.Boolean({
    default: false,
    description: 'Allow OPTIONS requests without a password, for CORS preflight requests.',
  }),
  users: Type.Array(
    Type.Object(
      {
        username: Type.String({
          minLength: 1,
          maxLength: MAX_NAME,
          description: 'Name of the user, without a colon. Upper and lower case differ.',
        }),
        password: Type.Optional(
          secret(
            'hashed',
            Type.String({
              description: `Password of ${MIN_PASSWORD} to ${MAX_PASSWORD} characters. Only a hash is stored, and it always reads as "". When "" is sent, the user of this name keeps the password.`,
            }),
            'nowhere',
          ),
        ),
      },
      { additionalProperties: false },
    ),
    {
      default: [],
      maxItems: MAX_USERS,
      description: `The users who may enter, at most ${MAX_USERS}. Empty: nobody may, except programs with a token and guests with a link.`,
    },
  ),
  realm: Type.String({
    default: 'Restricted',
    minLength: 1,
    maxLength: 128,
    pattern: '^[\\x20-\\x7e]+$',
    description:
      'Name of the protected area, which some browsers show beside the question for the password: printable ASCII. Default: "Restricted".',
  }),
});

export type BasicAuthConfig = Static<typeof basicAuthConfig>;

/** Messages about passwords repeat nothing of them. */
export function checkUsers({ users }: BasicAuthConfig): readonly FieldProblem[] {
  const names = new Set<string>();
  return users.flatMap(({ username, password = '' }, at) => {
    const problems: FieldProblem[] = [];
    const name = sameName(username);
    if (name.includes(':') || !isCredentialText(name)) {
      const message = 'must have no colon, no control characters and no broken characters: RFC 7617 cannot send them';
      problems.push({ path: `/users/${at}/username`, message });
    }
    if (names.has(name)) problems.push({ path: `/users/${at}/username`, message: 'is in the list twice' });
    names.add(name);
    const { length } = Array.from(password.normalize('NFC'));
    if (password === '') return problems;
    if (length < MIN_PASSWORD || length > MAX_PASSWORD) {
      const message = `must have ${MIN_PASSWORD} to ${MAX_PASSWORD} characters`;
      problems.push({ path: `/users/${at}/password`, message });
    }
    if (!isCredentialText(password)) {
      const message = 'must have no control characters and no broken characters: RFC 7617 cannot send them';
      problems.push({ path: `/users/${at}/password`, message });
    }
    return problems;
  });
}

export function normalizeUsers(config: BasicAuthConfig): BasicAuthConfig {
  return { ...config, users: config.users.map(({ username, password = '' }) => ({ username, password })) };
}

/** Devices write the same letters in different forms (RFC 8265). */
export function sameName(username: string): string {
  return username.normalize('NFC');
}

/**
 * A change asks for all of its passwords again after each of its routes: with fewer than it has, it would compute them
 * forever. As many as this take two hours to compute, and 25 MB.
 */
const MAX_COMPUTED = 100_000;

/**
 * Replaces passwords by their hashes. A password that is the stored one keeps its hash, so that sending it again
 * changes nothing; an empty one keeps the hash of the same user. Hashes are computed in the thread pool, one at a time:
 * the caller waits for them and asks again.
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
