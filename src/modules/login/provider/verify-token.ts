import {
  createLocalJWKSet,
  errors,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import type { Clock } from '../../../kit/clock.ts';
import { type JsonObject, parseExactJson } from '../../../kit/json.ts';
import type { IssuerSource, PublishedKeys } from './issuer-source.ts';
import { foreignText, LoginProblem, type TokenFault, type TokenName } from './login-problem.ts';

export const CLOCK_TOLERANCE_SECONDS = 60;

const TOKEN_WORDS: Readonly<Record<TokenName, string>> = {
  id_token: 'ID token',
  logout_token: 'logout token',
  userinfo: 'signed userinfo',
  workload_token: 'workload token',
};

const CLAIM_FAULTS: ReadonlyMap<string, TokenFault> = new Map([
  ['alg', 'algorithm'],
  ['typ', 'type'],
  ['iss', 'issuer'],
  ['aud', 'audience'],
  ['azp', 'authorized_party'],
  ['sub', 'subject'],
  ['iat', 'issued_at'],
  ['exp', 'expired'],
  ['nbf', 'not_before'],
  ['nonce', 'nonce'],
]);

export function tokenProblem(token: TokenName, fault: TokenFault, words: string): LoginProblem {
  return new LoginProblem('token', `${token}_${fault}`, `the ${TOKEN_WORDS[token]} was rejected: ${words}`);
}

/** The fault indicated by a claim or header field. */
export function claimFault(claim: string): TokenFault {
  return CLAIM_FAULTS.get(claim) ?? 'malformed';
}

/** Who signs tokens: an OpenID provider, or a system that issues tokens to programs. */
export interface SigningIssuer {
  readonly ports: { readonly clock: Clock };
  metadata(): Promise<{ readonly id_token_signing_alg_values_supported: string[] }>;
  withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result>;
}

interface VerifiedToken extends JWTVerifyResult {
  /** The payload with numbers as exact as the issuer wrote them. */
  readonly claims: JsonObject;
}

/** The payload of a token that was verified. */
export function exactClaims(token: string): JsonObject {
  return parseExactJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JsonObject;
}

/** Verifies the signature with the provider's keys, and the claims named in `options`, against the product's clock. */
export async function verifyToken(
  provider: SigningIssuer,
  name: TokenName,
  token: string,
  options: JWTVerifyOptions,
): Promise<VerifiedToken> {
  const { id_token_signing_alg_values_supported: announced } = await provider.metadata();
  const checks: JWTVerifyOptions = {
    ...options,
    algorithms: name === 'userinfo' ? [...SIGNING_ALGORITHMS] : announced,
    currentDate: new Date(provider.ports.clock.nowMs()),
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  };
  try {
    const verified = await provider.withKeys((keys) => jwtVerify(token, keys, checks));
    return { ...verified, claims: exactClaims(token) };
  } catch (error) {
    throw error instanceof LoginProblem ? error : refusal(name, error);
  }
}

function refusal(name: TokenName, error: unknown): LoginProblem {
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    return tokenProblem(name, claimFault(error.claim), error.message);
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return tokenProblem(name, 'algorithm', 'its signing algorithm is not accepted');
  }
  if (error instanceof errors.JOSENotSupported) return tokenProblem(name, 'algorithm', error.message);
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return tokenProblem(name, 'signature', 'its signature is not from the provider');
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return tokenProblem(name, 'key', 'the provider publishes no key that matches its header');
  }
  if (error instanceof KeyNotYetKnownError) {
    const words = 'it names a key that the provider did not publish a few seconds ago';
    // A login must not end because somebody else made us fetch the keys just before the provider rotated them.
    return name === 'id_token'
      ? new LoginProblem('unreachable', 'id_token_key', `the ID token cannot be verified yet: ${words}`)
      : tokenProblem(name, 'key', words);
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return tokenProblem(name, 'key', 'its header does not name which of several keys signed it');
  }
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) {
    return tokenProblem(name, 'malformed', error.message);
  }
  // The remaining case: unusable keys, such as RSA of less than 2048 bits.
  return tokenProblem(name, 'key', 'the key that the provider publishes for it cannot be used');
}

/** The keys of one issuer of tokens. */
export class IssuerKeys {
  readonly #source: Pick<IssuerSource<unknown>, 'keys' | 'newerKeys'>;
  #used: { readonly version: string; readonly keys: JWTVerifyGetKey } | null = null;

  constructor(source: Pick<IssuerSource<unknown>, 'keys' | 'newerKeys'>) {
    this.#source = source;
  }

  /**
   * Runs a verification with the provider's keys, and once more with newer ones when no known key matched: so keys can
   * be rotated at any time. The minimum interval between such reloads keeps a flood of invented tokens from becoming
   * one of requests.
   */
  async withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    const keys = this.#readable(await this.#source.keys());
    try {
      return await verify(keys);
    } catch (error) {
      if (!isKeyFault(error)) throw error;
      // Keys that cannot be fetched say nothing about the token.
      const newer = await this.#source.newerKeys();
      if (newer === null) throw error instanceof errors.JWKSNoMatchingKey ? new KeyNotYetKnownError() : error;
      return verify(this.#readable(newer));
    }
  }

  #readable({ version, set }: PublishedKeys): JWTVerifyGetKey {
    if (this.#used?.version !== version) this.#used = { version, keys: createLocalJWKSet(set) };
    return this.#used.keys;
  }
}

/** The token names a key that is not among those fetched seconds ago. It may be new: unknown for now. */
class KeyNotYetKnownError extends Error {}

/** A signature that fails under the right key id, or without one, may also be that of a new key. */
function isKeyFault(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}

/**
 * Signatures that only the provider can make. `none` and the HS family are excluded: with the latter, a holder of the
 * client's secret could sign, or anybody could against a verifier that takes a public key for one.
 */
export const SIGNING_ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/**
 * OpenID Connect Core §2: at most 255 ASCII characters. Printable, because it is used in headers, logs and record keys.
 */
export function isSubject(sub: unknown): sub is string {
  return typeof sub === 'string' && /^[\x20-\x7e]{1,255}$/.test(sub);
}

const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description'] as const;

interface CallbackExpectations {
  readonly issuer: string;
  readonly isIssuerAnnounced: boolean;
  readonly state: string;
}

/**
 * Checks the callback before anything is sent to the provider; returns the code. The order matters: an error is trusted
 * only from the right provider (RFC 9207) and for the right login (`state`).
 */
export function checkCallback(query: URLSearchParams, expected: CallbackExpectations): string {
  for (const name of PARAMETERS) {
    if (query.getAll(name).length > 1) {
      throw new LoginProblem('provider', 'callback_malformed', `the callback has more than one "${name}"`);
    }
  }
  const issuer = query.get('iss');
  if (issuer === null ? expected.isIssuerAnnounced : issuer !== expected.issuer) {
    throw new LoginProblem(
      'provider',
      'callback_issuer',
      `the callback is not from ${expected.issuer}: its "iss" is ${issuer === null ? 'missing' : 'another'}`,
    );
  }
  if (query.get('state') !== expected.state) {
    throw new LoginProblem('provider', 'callback_state', 'the "state" of the callback does not match this login');
  }
  const error = query.get('error');
  if (error !== null) throw callbackError(error, query.get('error_description'));
  const code = query.get('code');
  if (code !== null && code !== '') return code;
  throw new LoginProblem('provider', 'callback_malformed', 'the callback has neither "code" nor "error"');
}

function callbackError(error: string, description: string | null): LoginProblem {
  const words = description === null ? '' : ` (${foreignText(description)})`;
  return error === 'access_denied'
    ? new LoginProblem('denied', 'access_denied', `the provider denied access${words}`)
    : new LoginProblem('provider', 'callback_error', `the provider returned "${foreignText(error)}"${words}`);
}
