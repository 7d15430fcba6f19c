import { hash } from 'node:crypto';
import type { GuardedFetch } from '../../lib/http/guarded-fetch.ts';
import type {
  KnownLogin,
  LoginCallback,
  LoginClient,
  LoginStart,
  LoginTokens,
  RefreshedTokens,
} from '../login/login-client.ts';
import { checkCallback } from '../login/provider/check-callback.ts';
import { LoginProblem } from '../login/provider/login-problem.ts';
import { ProviderApi } from './provider-api.ts';
import type { OauthUser, ProviderDefinition, ProviderEndpoints } from './provider-definition.ts';
import type { TenantTokens } from './tenant-tokens.ts';
import { type ProviderTokens, requestTokens } from './token-request.ts';

export interface OauthClientConfig {
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
