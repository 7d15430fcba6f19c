import { headerText } from '../../../kit/http/header-values.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { isEmailVerified } from '../../../kit/text/email-address.ts';
import type { Identity, TrafficRequest } from '../../contract/decides.ts';
import type { LoginRecord } from '../../contract/login-store.ts';
import type { OwnIssuer } from '../../contract/own-issuer.ts';
import { type Assertion, type AssertionSigner, isFresh } from '../assertion-signer.ts';
import { boundedClaims, sentEmail, textClaim, type UpstreamUser } from '../claims.ts';
import { isAskedFor, type LoginParameters } from '../login-client.ts';

/** Issuer of logins that a guest link has made: the client id is that of the link. */
export const GUEST_ISSUER = 'postern:guest';

/** As JSON, for access rules: a provider that lists a thousand groups needs 30 KB. */
const MAX_KEPT_BYTES = 65_536;

/** The provider's claims that a login keeps. */
export function grantClaims(claims: JsonObject): Pick<GrantDoc, 'email' | 'name' | 'claims' | 'dropped_claims'> {
  const { kept, dropped } = boundedClaims(claims, MAX_KEPT_BYTES);
  return { email: textClaim(claims, 'email'), name: textClaim(claims, 'name'), claims: kept, dropped_claims: dropped };
}

/** The claims that a user's record keeps. */
export function userFields(claims: JsonObject): JsonObject {
  return {
    username: textClaim(claims, 'preferred_username'),
    email: textClaim(claims, 'email'),
    name: textClaim(claims, 'name'),
  };
}

/** Without those that the provider did not send: a refresh must not erase what is known. */
export function knownFields(claims: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(userFields(claims)).filter(([, text]) => text !== ''));
}

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

export interface SentIdentity {
  readonly headers: readonly string[];
  readonly assertion: Assertion;
}

/** The identity of a request's sender as sent to the upstream. */
export class UpstreamIdentity {
  readonly #signer: AssertionSigner;
  readonly #isUnverifiedEmailSent: (issuer: string) => boolean;

  constructor(signer: AssertionSigner, isUnverifiedEmailSent: (issuer: string) => boolean) {
    this.#signer = signer;
    this.#isUnverifiedEmailSent = isUnverifiedEmailSent;
  }

  headersFor(grant: Grant, { nowMs }: TrafficRequest): readonly string[] {
    grant.identity = this.current(grant.identity, nowMs, () => this.#userOf(grant));
    return grant.identity.headers;
  }

  /**
   * The given headers while they may still be sent, else new ones. The caller keeps the result with what it is about.
   */
  current(known: SentIdentity | null, nowMs: number, user: () => UpstreamUser): SentIdentity {
    if (known !== null && isFresh(known.assertion, nowMs)) return known;
    const told = user();
    const assertion = this.#signer.sign(told, nowMs);
    return { headers: [...identityHeaders(told), 'postern-auth-assertion', assertion.token], assertion };
  }

  #userOf({ id, holder, issuer, doc, host }: Grant): UpstreamUser {
    const { email: _, ...claims } = doc.claims;
    return {
      kind: holder.kind,
      id: holder.id,
      name: doc.name,
      // Withheld from the claims too: their readers check no more than readers of the header.
      email: sentEmail(doc, this.#isUnverifiedEmailSent(issuer)),
      claims,
      origin: doc.public_url,
      host,
      sessionId: id,
      provider: issuer,
      subject: doc.subject,
    };
  }
}

function identityHeaders({ kind, id, name, email, claims, subject }: UpstreamUser): readonly string[] {
  const headers = ['postern-auth-kind', kind, 'postern-auth-user-id', headerText(id)];
  if (email !== null) headers.push('postern-auth-user-email', headerText(email.address));
  if (name !== '') headers.push('postern-auth-user-name', headerText(name));
  const told = boundedClaims({ ...claims, ...(email !== null && { email: email.address }) }, MAX_SENT_BYTES).kept;
  const encoded = Buffer.from(JSON.stringify({ ...told, sub: subject })).toString('base64url');
  headers.push('postern-auth-claims', encoded);
  return headers;
}

/** As JSON, in one header. */
const MAX_SENT_BYTES = 3072;

/** A wildcard host has any number of names: beyond this many everything is signed again. */
const MAX_HOSTS = 100;

/** Identity headers of one program, which differ by host: they are signed for it. */
export class SentByHost {
  readonly #byHost = new Map<string, SentIdentity>();
  #version = 0;

  get(authority: string, version: number, make: (known: SentIdentity | null) => SentIdentity): SentIdentity {
    if (version !== this.#version || this.#byHost.size > MAX_HOSTS) this.#byHost.clear();
    this.#version = version;
    const known = this.#byHost.get(authority) ?? null;
    const sent = make(known);
    if (sent !== known) this.#byHost.set(authority, sent);
    return sent;
  }
}
