import { decodeJwt, type JWTPayload } from 'jose';
import type { JsonObject } from '../../../kit/json.ts';
import { LruMap } from '../../../kit/lru-map.ts';
import { isEmailVerified } from '../../../kit/text/email-address.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import type { Identity, TrafficRequest } from '../../contract/decides.ts';
import { sentEmail, textClaim, type UpstreamUser } from '../../login/claims.ts';
import type { TokenIssuer, TokenIssuers } from '../../login/provider/providers.ts';
import { CLOCK_TOLERANCE_SECONDS, isSubject, tokenProblem, verifyToken } from '../../login/provider/verify-token.ts';
import { SentByHost, type SentIdentity } from '../../login/sessions/grant.ts';
import type { ProgramPermit } from './account-tokens.ts';

/** A verified token of another issuer, and the permit of every request that carries it, until it expires. */
export class Workload implements ProgramPermit {
  readonly module = 'access';
  readonly version = 0;
  readonly identity: Identity;
  readonly audiences: readonly string[];
  readonly issuer: string;
  readonly #expiresAtMs: number;
  readonly #tokenId: string;
  readonly #sent = new SentByHost();

  constructor(facts: {
    readonly issuer: string;
    readonly subject: string;
    readonly tokenId: string;
    readonly claims: JsonObject;
    readonly audiences: readonly string[];
    readonly expiresAtMs: number;
  }) {
    const { claims, subject } = facts;
    this.issuer = facts.issuer;
    this.audiences = facts.audiences;
    this.#expiresAtMs = facts.expiresAtMs;
    this.#tokenId = facts.tokenId;
    this.identity = {
      kind: 'workload',
      id: subject,
      email: textClaim(claims, 'email'),
      isEmailVerified: isEmailVerified(claims),
      name: '',
      claims,
      droppedClaims: [],
    };
  }

  get userId(): string {
    return this.identity.id;
  }

  isHeld(nowMs: number): boolean {
    return nowMs < this.#expiresAtMs;
  }

  /** Nothing is recorded: the issuer knows which tokens it has issued. */
  touch(): void {}

  sentTo(request: TrafficRequest, make: (known: SentIdentity | null) => SentIdentity): SentIdentity {
    return this.#sent.get(request.authority, this.version, make);
  }

  upstreamUser(): Omit<UpstreamUser, 'origin' | 'host'> {
    const { id, email, claims } = this.identity;
    const { email: _, ...others } = claims;
    return {
      kind: 'workload',
      id,
      name: '',
      email: sentEmail({ email, claims }, false),
      claims: others,
      sessionId: this.#tokenId,
      provider: this.issuer,
      subject: id,
    };
  }
}

/** Longer ones are rejected unread; tokens of CI systems have one to three thousand characters. */
export const MAX_WORKLOAD_TOKEN = 16_384;
/** Verified tokens in memory, at about twice their length each. */
const MAX_VERIFIED = 2_000;
/** Then the signature is checked again: the issuer may have withdrawn the key long before the token expires. */
const VERIFIED_FOR_MS = 10 * 60_000;

/** RFC 8725 §3.11: a token of another type, such as a logout token, is not for this. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'JWT', 'AT+JWT']);

/** The issuer that a token claims to be from; null for anything that is not a JWT. */
export function claimedIssuer(token: string): string | null {
  // A JWS in compact form has three parts. Its header may start with any space, so its first characters say nothing.
  if (!token.includes('.')) return null;
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : null;
  } catch {
    return null;
  }
}

/** Verified tokens of other issuers. A repeated token costs a hash, and a signature check every ten minutes. */
export class WorkloadTokens {
  readonly #issuers: TokenIssuers;
  readonly #verified = new LruMap<string, { readonly workload: Workload; readonly atMs: number }>(MAX_VERIFIED);
  readonly #verifying = new Map<string, Promise<Workload>>();

  constructor(issuers: TokenIssuers) {
    this.#issuers = issuers;
  }

  /** The workload of a token that was verified a short time ago and has not expired. */
  known(hash: string, nowMs: number): Workload | null {
    const verified = this.#verified.get(hash);
    if (verified === undefined || Math.abs(nowMs - verified.atMs) >= VERIFIED_FOR_MS) return null;
    return verified.workload.isHeld(nowMs) ? verified.workload : null;
  }

  /** Rejects with a LoginProblem. Requests that send the same token at once share one verification. */
  verify(token: string, hash: string, issuer: string): Promise<Workload> {
    const running = this.#verifying.get(hash);
    if (running !== undefined) return running;
    const known = this.#issuers.get(issuer);
    const atMs = known.ports.clock.nowMs();
    const verifying = verified(known, token, hash)
      .then((workload) => {
        this.#verified.set(hash, { workload, atMs });
        return workload;
      })
      .finally(() => this.#verifying.delete(hash));
    this.#verifying.set(hash, verifying);
    return verifying;
  }
}

export function tokenKey(token: string): string {
  return hashToken(token);
}

async function verified(issuer: TokenIssuer, token: string, hash: string): Promise<Workload> {
  const { payload, protectedHeader, claims } = await verifyToken(issuer, 'workload_token', token, {
    issuer: issuer.issuer,
    requiredClaims: ['sub', 'aud', 'exp'],
  });
  if (!isAccessType(protectedHeader.typ)) {
    throw tokenProblem('workload_token', 'type', 'its "typ" is not that of a token for access');
  }
  const { sub, iat, exp = 0, jti } = payload;
  const nowSeconds = issuer.ports.clock.nowMs() / 1000;
  if (iat !== undefined && !(iat <= nowSeconds + CLOCK_TOLERANCE_SECONDS)) {
    throw tokenProblem('workload_token', 'issued_at', 'it was issued in the future ("iat"): compare the clocks');
  }
  if (!isSubject(sub)) {
    throw tokenProblem('workload_token', 'subject', '"sub" is not 1 to 255 printable ASCII characters');
  }
  return new Workload({
    issuer: issuer.issuer,
    subject: sub,
    tokenId: typeof jti === 'string' && isSubject(jti) ? jti : hash.slice(0, 32),
    claims,
    audiences: audiencesOf(payload),
    expiresAtMs: (exp + CLOCK_TOLERANCE_SECONDS) * 1000,
  });
}

/** The header is the issuer's own: nothing has checked that the type is a text. */
function isAccessType(typ: unknown): boolean {
  return TYPES.has(typeof typ === 'string' ? typ.toUpperCase().replace(/^APPLICATION\//, '') : typ);
}

function audiencesOf({ aud = [] }: JWTPayload): readonly string[] {
  return [aud].flat().filter((each) => typeof each === 'string');
}
