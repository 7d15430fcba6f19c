import { hash } from 'node:crypto';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '../../kit/clock.ts';
import { FetchProblem } from '../../kit/http/fetch-problem.ts';
import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import type {
  KnownLogin,
  LoginCallback,
  LoginClient,
  LoginStart,
  LoginTokens,
  RefreshedTokens,
} from '../login/login-client.ts';
import { type IssuerSource, isBusyStatus, statusProblem } from '../login/provider/issuer-source.ts';
import { foreignText, LoginProblem, unansweredProblem } from '../login/provider/login-problem.ts';
import type { TenantMetadata } from '../login/provider/providers.ts';
import {
  CLOCK_TOLERANCE_SECONDS,
  checkCallback,
  exactClaims,
  SIGNING_ALGORITHMS,
  tokenProblem,
} from '../login/provider/verify-token.ts';
import { type OauthUser, ProviderApi, type ProviderDefinition, type ProviderEndpoints } from './provider-definition.ts';

const MAX_TOKEN = 16_384;
/** GitHub has words of its own, with status 200. */
const GRANT_ERRORS: readonly unknown[] = ['invalid_grant', 'bad_verification_code', 'bad_refresh_token'];
const CLIENT_ERRORS: readonly unknown[] = ['invalid_client', 'unauthorized_client', 'incorrect_client_credentials'];

interface ProviderTokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly idToken: string | null;
  readonly expiresInSeconds: number | null;
}

/** RFC 6749 §4.1.3 and §6, as the eight providers implement it. */
export async function requestTokens(
  fetch: GuardedFetch,
  url: string,
  fields: Readonly<Record<string, string>>,
): Promise<ProviderTokens> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'postern',
    },
    body: new URLSearchParams(fields),
  }).catch((error: unknown) => {
    throw error instanceof FetchProblem ? unansweredProblem(error) : error;
  });
  if (isBusyStatus(response.status)) throw statusProblem(url, response.status);
  const body: unknown = await response.json().catch(() => null);
  if (!isJsonObject(body)) {
    if (response.status !== 200) throw statusProblem(url, response.status);
    throw new LoginProblem('provider', 'malformed_answer', `${url} returned no token response in JSON`);
  }
  const accessToken = token(body['access_token']);
  if (response.status === 200 && accessToken !== null) {
    const seconds = Number(body['expires_in'] ?? Number.NaN);
    return {
      accessToken,
      refreshToken: token(body['refresh_token']),
      idToken: token(body['id_token']),
      expiresInSeconds: Number.isFinite(seconds) && seconds >= 0 ? seconds : null,
    };
  }
  throw tokenError(url, body, Object.values(fields));
}

/** RFC 6749 §A.12: printable ASCII. Other characters cannot be sent in a header. */
function token(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value.length <= MAX_TOKEN && /^[\x20-\x7e]+$/.test(value) ? value : null;
}

function tokenError(url: string, body: JsonObject, secrets: readonly string[]): LoginProblem {
  const { error } = body;
  // Facebook's is an object, and Twitch has only a message.
  const words = isJsonObject(error) ? error['message'] : (body['error_description'] ?? body['message']);
  const code = typeof error === 'string' ? `"${foreignText(error, secrets)}"` : 'an error';
  const said = `${url} returned ${code}${typeof words === 'string' ? ` (${foreignText(words, secrets)})` : ''}`;
  if (GRANT_ERRORS.includes(error)) return new LoginProblem('invalid_grant', 'invalid_grant', said);
  return CLIENT_ERRORS.includes(error)
    ? new LoginProblem('configuration', 'client_rejected', `${said}: check client_id and client_secret`)
    : new LoginProblem('provider', 'token_error', said);
}

interface OauthClientConfig {
  readonly definition: ProviderDefinition;
  readonly endpoints: ProviderEndpoints;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly isChecked: boolean;
}

/** One client at one of the providers: the authorization code flow with PKCE and state. */
export class OauthClient implements LoginClient {
  readonly #config: OauthClientConfig;
  readonly #fetch: GuardedFetch;
  /** For a provider with ID tokens. */
  readonly #tenants: TenantTokens | null;

  constructor(config: OauthClientConfig, fetch: GuardedFetch, tenants: TenantTokens | null) {
    this.#config = config;
    this.#fetch = fetch;
    this.#tenants = tenants;
  }

  authorizationUrl(start: LoginStart & { readonly isSwitch?: boolean }): Promise<URL> {
    const { redirectUri, state, nonce, codeVerifier, isSwitch = false } = start;
    const { definition, endpoints, clientId, scopes, isChecked } = this.#config;
    const url = new URL(endpoints.authorize_url);
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: scopes.join(' '),
      state,
      code_challenge: hash('sha256', codeVerifier, 'base64url'),
      code_challenge_method: 'S256',
      ...(definition.hasIdToken === true && { nonce }),
      ...bothParameters(
        (isChecked && definition.recheckParameters) || {},
        (isSwitch && definition.switchParameters) || {},
      ),
    }).toString();
    return Promise.resolve(url);
  }

  checkCallback({ callbackUrl, state }: Pick<LoginCallback, 'callbackUrl' | 'state'>): Promise<string> {
    const query = new URLSearchParams(callbackUrl.search);
    // RFC 9207 names an issuer, which these providers have no address for; all their endpoints are fixed.
    query.delete('iss');
    return Promise.resolve().then(() => checkCallback(query, { issuer: '', isIssuerAnnounced: false, state }));
  }

  async exchange(callback: LoginCallback): Promise<LoginTokens> {
    const code = await this.checkCallback(callback);
    const tokens = await this.#request({
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback.redirectUri,
      code_verifier: callback.codeVerifier,
    });
    const { subject, claims } = await this.#user(tokens, { nonce: callback.nonce, isRefresh: false });
    return {
      subject,
      claims,
      sid: null,
      idToken: tokens.idToken,
      accessToken: tokens.accessToken,
      refreshToken: tokens.refreshToken,
      accessExpiresInSeconds: tokens.expiresInSeconds,
      grantedScopes: this.#config.scopes,
    };
  }

  /** With the access token while it works: providers such as GitHub have no other. */
  async refresh(known: KnownLogin): Promise<RefreshedTokens> {
    const { accessToken = null, refreshToken, nonce } = known;
    const isNewNeeded = this.#config.definition.hasIdToken === true || accessToken === null;
    const current = { accessToken: accessToken ?? '', refreshToken, idToken: null, expiresInSeconds: null };
    const user = isNewNeeded ? null : await this.#currentUser(current, refreshToken !== '');
    if (user !== null) return this.#refreshed(known, current, user);
    const tokens = await this.#request({ grant_type: 'refresh_token', refresh_token: refreshToken });
    try {
      return this.#refreshed(known, tokens, await this.#user(tokens, { nonce, isRefresh: true }));
    } catch (error) {
      // The old refresh token may be used up: the new one must not be lost because the API is temporarily unavailable.
      if (!(error instanceof LoginProblem) || error.kind !== 'unreachable') throw error;
      return { ...this.#kept(known, tokens), claims: null, unconfirmed: error };
    }
  }

  endSessionUrl(): Promise<null> {
    return Promise.resolve(null);
  }

  /** Null when the access token has ended and there is a refresh token to replace it. */
  async #currentUser(tokens: ProviderTokens, canRefresh: boolean): Promise<OauthUser | null> {
    try {
      return await this.#user(tokens, { nonce: null, isRefresh: true });
    } catch (error) {
      if (canRefresh && error instanceof LoginProblem && error.kind === 'invalid_grant') return null;
      throw error;
    }
  }

  #refreshed(known: KnownLogin, tokens: ProviderTokens, { subject, claims }: OauthUser): RefreshedTokens {
    if (subject !== known.subject) {
      throw new LoginProblem('token', 'userinfo_subject', 'the provider now reports another user for the login');
    }
    return { ...this.#kept(known, tokens), claims, unconfirmed: null };
  }

  #kept(known: KnownLogin, tokens: ProviderTokens): Omit<RefreshedTokens, 'claims' | 'unconfirmed'> {
    return {
      accessToken: tokens.accessToken,
      refreshToken: tokens.refreshToken ?? known.refreshToken,
      accessExpiresInSeconds: tokens.expiresInSeconds,
      idToken: tokens.idToken,
    };
  }

  #request(fields: Readonly<Record<string, string>>): Promise<ProviderTokens> {
    const { endpoints, clientId, clientSecret } = this.#config;
    return requestTokens(this.#fetch, endpoints.token_url, {
      ...fields,
      client_id: clientId,
      client_secret: clientSecret,
    });
  }

  async #user(
    { accessToken, idToken }: ProviderTokens,
    expected: { readonly nonce: string | null; readonly isRefresh: boolean },
  ): Promise<OauthUser> {
    const { definition, endpoints, clientId, clientSecret, scopes } = this.#config;
    const idClaims =
      this.#tenants === null || idToken === null ? null : await this.#tenants.verify(idToken, clientId, expected);
    return definition.loadUser(
      new ProviderApi({ fetch: this.#fetch, endpoints, clientId, clientSecret, accessToken, idClaims, scopes }),
    );
  }
}

/** A parameter of both is a list, as `prompt` is (OpenID Connect Core §3.1.2.1). */
function bothParameters(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const shared = Object.keys(one).filter((name) => name in other);
  return { ...one, ...other, ...Object.fromEntries(shared.map((name) => [name, `${other[name]} ${one[name]}`])) };
}

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
