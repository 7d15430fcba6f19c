import type { JsonObject } from '../../../lib/json.ts';
import { isEmailVerified } from '../../../lib/text/verified-email.ts';
import type { Identity } from '../../contract/recognizes-requesters.ts';
import { GUEST_ISSUER } from '../guest-issuer.ts';
import type { SentIdentity } from '../identity/upstream-identity.ts';
import { isAskedFor, type LoginParameters } from '../login-parameters.ts';
import type { LoginRecord } from '../login-store.ts';
import type { OwnIssuer } from '../own-issuer.ts';
import { grantClaims } from './user-fields.ts';

/** How long a login lasts, in seconds; 0 = unlimited. The module's current values, regardless of those at login. */
export interface SessionLimits {
  readonly inactivitySeconds: number;
  readonly maximumSeconds: number;
}

/** How long an unavailable provider or store is left alone. */
export const REFRESH_RETRY_MS = 30_000;

/** Fields of a login record beside its columns. */
export interface GrantDoc {
  readonly public_url: string;
  readonly user_agent: string;
  readonly ip_address: string;
  readonly created_at: string;
  readonly route_id: string;
  readonly host: string;
  readonly scopes: readonly string[];
  readonly subject: string;
  readonly email: string;
  readonly name: string;
  readonly claims: JsonObject;
  /** Names of claims that were too large to keep. */
  readonly dropped_claims: readonly string[];
  /** When the access token expires; null when the provider did not announce it. */
  readonly access_expires_at_ms: number | null;
  /** When the provider last confirmed the login, initially by the login itself. */
  readonly refreshed_at_ms: number;
  /** The limits at the time of the login, in seconds; the current ones of its route apply. */
  readonly limits?: { readonly inactivity_timeout: number; readonly maximum_duration: number };
  /** What the login asked of the provider beyond its scopes; absent: nothing. */
  readonly parameters?: LoginParameters;
  /** When it ends in any case; absent: by the limits of its module alone. */
  readonly ends_at_ms?: number;
}

/** The result of a refresh. */
export interface RefreshedGrant {
  readonly doc: GrantDoc;
  readonly secrets: Readonly<Record<string, string>>;
  /** Fields of the user; null when nothing was reported. */
  readonly user: JsonObject | null;
}

/** One login in memory: kept while it is used, changed in place, so that streams under it see its end. */
export class Grant {
  readonly id: string;
  readonly userId: string;
  readonly edgeId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly host: string;
  readonly createdMs: number;
  keyHash: string;
  version: number;
  doc: GrantDoc;
  secrets: Readonly<Record<string, string>>;
  lastActiveMs: number;
  /** When a stream last ran under it. */
  heldAtMs = 0;
  isEnded = false;
  /** No retry before this time after a failed refresh. */
  refreshNotBeforeMs = 0;
  /** A refresh that is not stored yet. */
  unwritten: RefreshedGrant | null = null;
  /** The upstream's identity headers, rebuilt with each version and each minute; see `identity/`. */
  identity: SentIdentity | null = null;
  #coveredScopes: readonly string[] | null = null;
  #holder: Identity | null = null;
  readonly #people: Pick<OwnIssuer, 'personOf'> | null;
  /** Revision of the person whose claims it has; 0: those of its login. */
  #personRevision = 0;

  /** `own`: Postern's provider, whose people are known at any time. */
  constructor(record: LoginRecord, own: OwnIssuer | null = null) {
    this.#people = own !== null && own.issuer === record.issuer ? own : null;
    this.id = record.id;
    this.userId = record.userId;
    this.edgeId = record.edgeId;
    this.issuer = record.issuer;
    this.clientId = record.clientId;
    this.keyHash = record.keyHash;
    this.version = record.version;
    this.doc = record.doc as unknown as GrantDoc;
    this.secrets = record.secrets ?? {};
    this.host = this.doc.host;
    this.createdMs = Date.parse(this.doc.created_at);
    this.lastActiveMs = record.lastActiveMs;
  }

  /** Applies what another process, or a refresh, has written. */
  update(record: LoginRecord): void {
    if (record.version !== this.version) this.unwritten = null;
    this.keyHash = record.keyHash;
    this.version = record.version;
    this.doc = record.doc as unknown as GrantDoc;
    this.secrets = record.secrets ?? {};
    this.lastActiveMs = Math.max(this.lastActiveMs, record.lastActiveMs);
    this.identity = null;
    this.#holder = null;
    this.#personRevision = 0;
  }

  /** As the store would return it, apart from an expiry that limits decide. */
  record(): LoginRecord {
    const { id, userId, keyHash, edgeId, issuer, clientId, lastActiveMs, version, doc, secrets } = this;
    return {
      ...{ id, userId, keyHash, edgeId, issuer, clientId, lastActiveMs, version, secrets },
      providerSessionId: null,
      expiresAtMs: 0,
      doc: doc as unknown as JsonObject,
    };
  }

  /** Takes over what has changed about its person since the login. False when they may no longer be logged in. */
  followPerson(): boolean {
    if (this.#people === null) return true;
    const person = this.#people.personOf(this.doc.subject);
    if (person === null) return false;
    if (person.revision === this.#personRevision) return true;
    this.#personRevision = person.revision;
    this.doc = { ...this.doc, ...grantClaims({ ...this.doc.claims, ...person.claims }) };
    this.identity = null;
    this.#holder = null;
    return true;
  }

  /** Increases with every change of what it says about its holder. */
  get holderVersion(): number {
    return this.version + this.#personRevision;
  }

  /** Who logged in, as access rules see it. */
  get holder(): Identity {
    const { email, name, claims, subject } = this.doc;
    const isGuest = this.issuer === GUEST_ISSUER;
    this.#holder ??= {
      kind: isGuest ? 'guest' : 'user',
      id: isGuest ? this.clientId : this.userId,
      email,
      isEmailVerified: isEmailVerified(claims),
      name,
      claims: { ...claims, sub: subject },
      droppedClaims: this.doc.dropped_claims,
    };
    return this.#holder;
  }

  isWithin(limits: SessionLimits, nowMs: number): boolean {
    const { inactivitySeconds, maximumSeconds } = limits;
    if (nowMs >= this.#endsAtMs) return false;
    if (maximumSeconds !== 0 && nowMs - this.createdMs > maximumSeconds * 1000) return false;
    return inactivitySeconds === 0 || nowMs - this.lastActiveMs <= inactivitySeconds * 1000;
  }

  /** 0 = unlimited. */
  expiresAtMs({ inactivitySeconds, maximumSeconds }: SessionLimits): number {
    const byAge = maximumSeconds === 0 ? Number.POSITIVE_INFINITY : this.createdMs + maximumSeconds * 1000;
    const byRest = inactivitySeconds === 0 ? Number.POSITIVE_INFINITY : this.lastActiveMs + inactivitySeconds * 1000;
    const first = Math.min(byAge, byRest, this.#endsAtMs);
    return Number.isFinite(first) ? first : 0;
  }

  get #endsAtMs(): number {
    return this.doc.ends_at_ms ?? Number.POSITIVE_INFINITY;
  }

  /** Whether it was requested with at least these scopes. The list's identity represents its version. */
  covers(scopes: readonly string[]): boolean {
    if (this.#coveredScopes === scopes) return true;
    if (!scopes.every((scope) => scope === 'openid' || this.doc.scopes.includes(scope))) return false;
    this.#coveredScopes = scopes;
    return true;
  }

  /** Whether its login asked the provider for at least as much as a route does. */
  meets(parameters: LoginParameters | null): boolean {
    return parameters === null || isAskedFor(parameters, this.doc.parameters ?? null);
  }

  get refreshedAtMs(): number {
    return (this.unwritten?.doc ?? this.doc).refreshed_at_ms;
  }

  /** `recheckSeconds`: see `LoginConfig`. */
  needsRefresh(nowMs: number, recheckSeconds: number | null): boolean {
    const waitMs = this.refreshNotBeforeMs - nowMs;
    // A clock that was set back must not delay it for long. Twice: a request's time is that of its start.
    if (waitMs > 0 && waitMs <= 2 * REFRESH_RETRY_MS) return false;
    if (this.unwritten !== null) return true;
    if (recheckSeconds !== null) return recheckSeconds > 0 && nowMs - this.refreshedAtMs >= recheckSeconds * 1000;
    const expiresAtMs = this.doc.access_expires_at_ms;
    if (expiresAtMs === null || nowMs < expiresAtMs) return false;
    return this.secrets['refresh_token'] !== undefined;
  }
}

/** The logins of one browser. */
export interface Session {
  readonly cookieValue: string;
  readonly companionValue: string;
  readonly keyHash: string;
  grants: readonly Grant[];
}

export function findGrant(
  session: Session | null,
  wanted: { readonly edgeId: string; readonly host: string; readonly issuer: string; readonly clientId: string },
): Grant | null {
  for (const grant of session?.grants ?? []) {
    if (
      grant.host === wanted.host &&
      grant.clientId === wanted.clientId &&
      grant.issuer === wanted.issuer &&
      grant.edgeId === wanted.edgeId &&
      !grant.isEnded
    )
      return grant;
  }
  return null;
}
