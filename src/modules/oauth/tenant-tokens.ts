import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import type { Clock } from '../../lib/clock.ts';
import type { GuardedFetch } from '../../lib/http/guarded-fetch.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { askForJson } from '../login/provider/ask-provider.ts';
import { CachedResponse } from '../login/provider/cached-response.ts';
import { LoginProblem } from '../login/provider/login-problem.ts';
import { SIGNING_ALGORITHMS } from '../login/provider/signing-algorithms.ts';
import { CLOCK_TOLERANCE_SECONDS, exactClaims, tokenProblem } from '../login/provider/verify-token.ts';

const MINUTE_MS = 60_000;
const TENANT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Claims of the protocol, not about the user. */
const PROTOCOL = ['iss', 'aud', 'exp', 'iat', 'nbf', 'nonce', 'aio', 'rh', 'uti', 'ver', 'at_hash', 'c_hash'];

interface Tenants {
  /** Such as `https://login.microsoftonline.com/{tenantid}/v2.0`. */
  readonly issuer: string;
  readonly keys: JSONWebKeySet;
}

/**
 * ID tokens of Microsoft's multi-tenant endpoints. Their discovery document names a template instead of an issuer: the
 * issuer of a token must be the template with the token's own tenant, and a key may be limited to one issuer.
 */
export class TenantTokens {
  readonly #known: CachedResponse<Tenants>;
  readonly #clock: Clock;

  constructor(authorizeUrl: string, fetch: GuardedFetch, clock: Clock) {
    this.#clock = clock;
    this.#known = new CachedResponse({
      load: () => loadTenants(authorizeUrl, fetch),
      clock,
      refreshAfterMs: 10 * MINUTE_MS,
      validForMs: 60 * MINUTE_MS,
      floorMs: 5_000,
    });
  }

  /** The claims about the user. OpenID Connect Core §12.2: the token of a refresh need not repeat the nonce. */
  async verify(
    token: string,
    clientId: string,
    { nonce, isRefresh }: { readonly nonce: string | null; readonly isRefresh: boolean },
  ): Promise<JsonObject> {
    const tenants = await this.#known.get();
    const verified = await this.#verified(token, clientId, tenants).catch(async (error: unknown) => {
      const newer =
        error instanceof LoginProblem && /_(key|signature)$/.test(error.reason) ? await this.#known.getNewer() : null;
      if (newer === null) throw error;
      return this.#verified(token, clientId, newer);
    });
    const said = verified['nonce'];
    if (said !== nonce && !(isRefresh && said === undefined)) {
      throw tokenProblem('id_token', 'nonce', 'its "nonce" is not that of the login');
    }
    return Object.fromEntries(Object.entries(verified).filter(([name]) => !PROTOCOL.includes(name)));
  }

  async #verified(token: string, clientId: string, { issuer, keys }: Tenants): Promise<JsonObject> {
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys), {
      audience: clientId,
      algorithms: [...SIGNING_ALGORITHMS],
      requiredClaims: ['exp', 'iat', 'sub', 'tid'],
      currentDate: new Date(this.#clock.nowMs()),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    }).catch((error: unknown) => {
      throw tokenFault(error);
    });
    const tenant = String(payload['tid']);
    const expected = issuer.replace('{tenantid}', tenant);
    const key = keys.keys.find(({ kid }) => kid === protectedHeader.kid) as { readonly issuer?: unknown } | undefined;
    const limited = key?.issuer === undefined ? issuer : key.issuer;
    const limit = typeof limited === 'string' ? limited.replace('{tenantid}', tenant) : null;
    if (!TENANT.test(tenant) || payload.iss !== expected || limit !== expected) {
      throw tokenProblem('id_token', 'issuer', '"iss" is not that of its tenant ("tid")');
    }
    return exactClaims(token);
  }
}

function tokenFault(error: unknown): LoginProblem {
  const { code = '', claim = '' } = error as { readonly code?: string; readonly claim?: string };
  if (code === 'ERR_JWKS_NO_MATCHING_KEY') return tokenProblem('id_token', 'key', 'no key of the provider matches');
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return tokenProblem('id_token', 'signature', 'it is forged');
  if (code === 'ERR_JWT_EXPIRED') return tokenProblem('id_token', 'expired', 'it has expired');
  if (claim === 'aud') return tokenProblem('id_token', 'audience', '"aud" is not this client');
  return tokenProblem('id_token', 'malformed', 'it is not a valid token');
}

async function loadTenants(authorizeUrl: string, fetch: GuardedFetch): Promise<Tenants> {
  const base = authorizeUrl.replace(/\/oauth2\/v2\.0\/authorize$/, '');
  const document = await askForJson(fetch, `${base}/v2.0/.well-known/openid-configuration`);
  const { issuer, jwks_uri: keysUrl } = document;
  if (typeof issuer !== 'string' || typeof keysUrl !== 'string' || !URL.canParse(keysUrl)) {
    throw new LoginProblem('provider', 'malformed_answer', `the discovery document of ${base} has no issuer or keys`);
  }
  // Keys from elsewhere could be anybody's.
  if (new URL(keysUrl).origin !== new URL(authorizeUrl).origin) {
    throw new LoginProblem('configuration', 'endpoint_insecure', `the keys of ${base} are on another host`);
  }
  const keys = await askForJson(fetch, keysUrl);
  if (!Array.isArray(keys['keys']) || !keys['keys'].every(isJsonObject)) {
    throw new LoginProblem('provider', 'malformed_answer', `${keysUrl} returned a body that is not a JSON Web Key Set`);
  }
  return { issuer, keys: keys as unknown as JSONWebKeySet };
}
