import { rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { subjectIdentity } from '../../../kit/text/secrets.ts';
import type { OwnPathRequest } from '../../contract/prepared-module.ts';
import { originOf } from '../flow/return-target.ts';
import type { LoginParameters, LoginTokens } from '../login-client.ts';
import type { LoginOnRoute } from '../login-on-route.ts';
import type { LoginRuntime } from '../login-runtime.ts';
import type { BrowserKey, CookieNames } from '../session-cookie.ts';
import { findGrant, Grant, type GrantDoc, grantClaims, type SessionLimits, userFields } from './grant.ts';
import { accessExpiresAtMs } from './token-refresh.ts';

const MAX_USER_AGENT = 512;

/** A login to store: with a provider behind it, or without one, as that of a guest. */
export interface NewSession {
  readonly edgeId: string;
  readonly routeId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly subject: string;
  readonly identityProvider: IdentityProvider;
  readonly claims: JsonObject;
  readonly scopes: readonly string[];
  readonly cookieNames: CookieNames;
  readonly limits: SessionLimits;
  readonly parameters: LoginParameters | null;
  /** When it ends in any case; null: by its limits alone. */
  readonly endsAtMs: number | null;
  readonly providerSessionId: string | null;
  /** Null when the provider did not say; absent when there is none to ask. */
  readonly accessExpiresInSeconds?: number | null;
  readonly secrets: Readonly<Record<string, string>>;
  /** Whether the login that this one replaces still gave access. */
  isInForce(replaced: Grant): boolean;
}

/** As `/app/users` shows it. */
export interface IdentityProvider {
  readonly name: string;
  readonly url: string;
}

export interface RecordedSession {
  /** Id of the session. */
  readonly id: string;
  /** Belongs into the browser's cookies: see `setSessionCookies`. */
  readonly key: BrowserKey;
}

/** Stores a login under a new key for this browser: an attacker who knew the old key gains nothing. */
export async function recordSession(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  login: NewSession,
): Promise<RecordedSession> {
  const now = request.nowMs;
  const session = await runtime.sessions.find(request.headerLines('cookie'), login.cookieNames);
  const replaced = findGrant(session, { ...login, host: request.host });
  // The session's current state: storing the login changes it. An expired login gave no access, and its key opens no
  // other.
  const grants = session?.grants.filter((grant) => grant !== replaced || login.isInForce(grant)) ?? [];
  const previous = session === null ? null : { keyHash: session.keyHash, grants };
  const key = runtime.cookies.create();
  const id = runtime.newId('as');
  const record = {
    id,
    keyHash: key.keyHash,
    edgeId: login.edgeId,
    issuer: login.issuer,
    clientId: login.clientId,
    providerSessionId: login.providerSessionId,
    lastActiveMs: now,
    doc: { ...grantDoc(request, login) } as JsonObject,
    secrets: login.secrets,
  };
  const expiresAtMs = new Grant({ ...record, userId: '', version: 0, expiresAtMs: 0 }).expiresAtMs(login.limits);
  const records = await runtime.records.recordLogin({
    identity: subjectIdentity(login.issuer, login.subject),
    newUserId: runtime.newId('au'),
    userDoc: userDoc(login, now),
    session: { ...record, expiresAtMs },
    previousKeyHash: previous?.keyHash ?? null,
    replaces: replaced === null ? [] : [replaced.id],
  });
  await runtime.loggedIn(login.edgeId, key, records, previous);
  return { id, key };
}

function grantDoc(request: OwnPathRequest, login: NewSession): GrantDoc {
  const { accessExpiresInSeconds, endsAtMs, limits, parameters } = login;
  return {
    public_url: originOf(request),
    user_agent: (request.header('user-agent') ?? '').slice(0, MAX_USER_AGENT),
    ip_address: request.clientAddress,
    created_at: rfc3339(request.nowMs),
    route_id: login.routeId,
    host: request.host,
    scopes: login.scopes,
    subject: login.subject,
    ...grantClaims(login.claims),
    access_expires_at_ms:
      accessExpiresInSeconds === undefined ? null : accessExpiresAtMs(accessExpiresInSeconds, request.nowMs),
    refreshed_at_ms: request.nowMs,
    limits: { inactivity_timeout: limits.inactivitySeconds, maximum_duration: limits.maximumSeconds },
    ...(parameters !== null && { parameters }),
    ...(endsAtMs !== null && { ends_at_ms: endsAtMs }),
  };
}

function userDoc({ identityProvider, subject, claims }: NewSession, nowMs: number): JsonObject {
  const now = rfc3339(nowMs);
  return {
    identity_provider: { ...identityProvider },
    provider_user_id: subject,
    ...userFields(claims),
    created_at: now,
    last_active: now,
    last_login: now,
  };
}

/** Stores a login that the provider has confirmed. */
export async function recordLogin(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  login: LoginOnRoute,
  tokens: LoginTokens,
  nonce: string,
): Promise<BrowserKey> {
  const { config, cookieNames } = login;
  const { edgeId, routeId, issuer, clientId, scopes, limits, parameters, identityProvider } = config;
  const { subject, claims, sid, accessExpiresInSeconds } = tokens;
  const { key } = await runtime.recordSession(request, {
    edgeId,
    routeId,
    issuer,
    clientId,
    scopes,
    limits,
    parameters,
    identityProvider,
    subject,
    claims,
    cookieNames,
    providerSessionId: sid,
    accessExpiresInSeconds,
    endsAtMs: null,
    secrets: {
      ...(tokens.idToken !== null && { id_token: tokens.idToken }),
      nonce,
      ...(tokens.accessToken !== null && { access_token: tokens.accessToken }),
      ...(tokens.refreshToken !== null && { refresh_token: tokens.refreshToken }),
    },
    isInForce: (grant) => login.isInForce(grant, request.nowMs),
  });
  return key;
}
