import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { IssuerSource } from '../login/provider/issuer-source.ts';
import { LoginProblem } from '../login/provider/login-problem.ts';
import { SIGNING_ALGORITHMS } from '../login/provider/signing-algorithms.ts';
import type { TenantMetadata } from '../login/provider/tenant-issuer.ts';
import { CLOCK_TOLERANCE_SECONDS, exactClaims, tokenProblem } from '../login/provider/verify-token.ts';

const TENANT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Claims of the protocol, not about the user. */
const PROTOCOL = ['iss', 'aud', 'exp', 'iat', 'nbf', 'nonce', 'aio', 'rh', 'uti', 'ver', 'at_hash', 'c_hash'];

/**
 * ID tokens of Microsoft's multi-tenant endpoints. Their discovery document names a template instead of an issuer: the
 * issuer of a token must be the template with the token's own tenant, and a key may be limited to one issuer.
 */
export class TenantTokens {
  readonly #source: IssuerSource<TenantMetadata>;
  #used: { readonly set: JSONWebKeySet; readonly keys: JWTVerifyGetKey } | null = null;
  readonly #clock: Clock;

  constructor(source: IssuerSource<TenantMetadata>, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** The claims about the user. OpenID Connect Core §12.2: the token of a refresh need not repeat the nonce. */
  async verify(
    token: string,
    clientId: string,
    { nonce, isRefresh }: { readonly nonce: string | null; readonly isRefresh: boolean },
  ): Promise<JsonObject> {
    const { issuer } = await this.#source.metadata();
    const { set } = await this.#source.keys();
    const verified = await this.#verified(token, clientId, issuer, set).catch(async (error: unknown) => {
      const isKeyFault = error instanceof LoginProblem && /_(key|signature)$/.test(error.reason);
      const newer = isKeyFault ? await this.#source.newerKeys() : null;
      if (newer === null) throw error;
      return this.#verified(token, clientId, issuer, newer.set);
    });
    const said = verified['nonce'];
    if (said !== nonce && !(isRefresh && said === undefined)) {
      throw tokenProblem('id_token', 'nonce', 'its "nonce" is not that of the login');
    }
    return Object.fromEntries(Object.entries(verified).filter(([name]) => !PROTOCOL.includes(name)));
  }

  /** Until other ones are fetched. */
  #readable(set: JSONWebKeySet): JWTVerifyGetKey {
    if (this.#used?.set !== set) this.#used = { set, keys: createLocalJWKSet(set) };
    return this.#used.keys;
  }

  async #verified(token: string, clientId: string, issuer: string, keys: JSONWebKeySet): Promise<JsonObject> {
    const { payload, protectedHeader } = await jwtVerify(token, this.#readable(keys), {
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
