import type { JsonObject } from '../../../lib/json.ts';
import { isEmailVerified } from '../../../lib/text/verified-email.ts';
import type { Identity } from '../../contract/recognizes-requesters.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import { textClaim } from '../../login/identity/claims.ts';
import { SentByHost } from '../../login/identity/sent-by-host.ts';
import { sentEmail } from '../../login/identity/sent-email.ts';
import type { SentIdentity } from '../../login/identity/upstream-identity.ts';
import type { UpstreamUser } from '../../login/identity/upstream-user.ts';
import type { ProgramPermit } from './program-permit.ts';

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
