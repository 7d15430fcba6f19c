import { errors, type JWTVerifyGetKey, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import type { Clock } from '../../../lib/clock.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { parseExactJson } from '../../../lib/text/exact-json.ts';
import { KeyNotYetKnownError } from './issuer-keys.ts';
import { LoginProblem, type TokenFault, type TokenName } from './login-problem.ts';
import { SIGNING_ALGORITHMS } from './signing-algorithms.ts';

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

export interface VerifiedToken extends JWTVerifyResult {
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
