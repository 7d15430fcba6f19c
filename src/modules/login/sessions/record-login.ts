import { hash } from 'node:crypto';
import { rfc3339 } from '../../../lib/clock.ts';
import type { JsonObject } from '../../../lib/json.ts';
import type { LoginTokens } from '../../oidc/provider/oidc-client.ts';
import type { OwnPathRequest } from '../../prepared-module.ts';
import type { BrowserKey } from '../cookies/session-cookie.ts';
import { originOf } from '../flow/return-target.ts';
import type { LoginOnRoute } from '../login-on-route.ts';
import type { LoginRuntime } from '../login-runtime.ts';
import { accessExpiresAtMs } from './access-expiry.ts';
import { findGrant, Grant, type GrantDoc } from './grant.ts';
import { grantClaims, userFields } from './user-fields.ts';

const MAX_USER_AGENT = 512;

/** One user per issuer and subject (OpenID Connect Core §5.7). */
export function identityOf(issuer: string, subject: string): string {
  return hash('sha256', `${issuer}\n${subject}`);
}

/** Stores a login under a new key for this browser: an attacker who knew the old key gains nothing. */
export async function recordLogin(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  login: LoginOnRoute,
  tokens: LoginTokens,
  { scopes, nonce }: { readonly scopes: readonly string[]; readonly nonce: string },
): Promise<BrowserKey> {
  const { config, cookieNames } = login;
  const now = request.nowMs;
  const session = await runtime.sessions.find(request.headerLines('cookie'), cookieNames);
  const replaced = findGrant(session, { ...config, host: request.host });
  // Its current state: storing the login changes it. An expired login gave no access, and its key opens no other.
  const grants = session?.grants.filter((grant) => grant !== replaced || login.isInForce(grant, now)) ?? [];
  const previous = session === null ? null : { keyHash: session.keyHash, grants };
  const key = runtime.cookies.create();
  const doc = grantDoc(request, login, tokens, scopes);
  const record = {
    id: runtime.newId('as'),
    keyHash: key.keyHash,
    edgeId: config.edgeId,
    issuer: config.issuer,
    clientId: config.clientId,
    providerSessionId: tokens.sid,
    lastActiveMs: now,
    doc: { ...doc } as JsonObject,
    secrets: {
      id_token: tokens.idToken,
      nonce,
      ...(tokens.accessToken !== null && { access_token: tokens.accessToken }),
      ...(tokens.refreshToken !== null && { refresh_token: tokens.refreshToken }),
    },
  };
  const expiresAtMs = new Grant({ ...record, userId: '', version: 0, expiresAtMs: 0 }).expiresAtMs(config.limits);
  const records = await runtime.records.recordLogin({
    identity: identityOf(config.issuer, tokens.subject),
    newUserId: runtime.newId('au'),
    userDoc: userDoc(config.issuer, tokens, now),
    session: { ...record, expiresAtMs },
    previousKeyHash: previous?.keyHash ?? null,
    replaces: replaced === null ? [] : [replaced.id],
  });
  runtime.loggedIn(config.edgeId, key, records, previous);
  return key;
}

function grantDoc(
  request: OwnPathRequest,
  { config }: LoginOnRoute,
  { claims, subject, accessExpiresInSeconds }: LoginTokens,
  scopes: readonly string[],
): GrantDoc {
  return {
    public_url: originOf(request),
    user_agent: (request.header('user-agent') ?? '').slice(0, MAX_USER_AGENT),
    ip_address: request.clientAddress,
    created_at: rfc3339(request.nowMs),
    route_id: config.routeId,
    host: request.host,
    scopes,
    subject,
    ...grantClaims(claims),
    access_expires_at_ms: accessExpiresAtMs(accessExpiresInSeconds, request.nowMs),
    refreshed_at_ms: request.nowMs,
  };
}

function userDoc(issuer: string, { claims, subject }: LoginTokens, nowMs: number): JsonObject {
  const now = rfc3339(nowMs);
  return {
    identity_provider: { name: 'oidc', url: issuer },
    provider_user_id: subject,
    ...userFields(claims),
    created_at: now,
    last_active: now,
    last_login: now,
  };
}
