import { decodeJwt } from 'jose';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  Configuration,
  type CustomFetchOptions,
  calculatePKCECodeChallenge,
  clockSkew,
  clockTolerance,
  customFetch,
  refreshTokenGrant,
} from 'openid-client';
import type { JsonObject } from '../../../kit/json.ts';
import type {
  KnownLogin,
  LoginCallback,
  LoginClient,
  LoginParameters,
  LoginStart,
  LoginTokens,
  LogoutToken,
  RefreshedTokens,
} from '../login-client.ts';
import type { DiscoveredMetadata } from '../provider/discovery.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import type { Provider } from '../provider/providers.ts';
import { CLOCK_TOLERANCE_SECONDS, checkCallback, tokenProblem } from '../provider/verify-token.ts';
import { type IdToken, userClaims, verifyIdToken, verifyLogoutToken } from './id-token.ts';
import { clientAuthentication, fetchUserinfo, lacksClaims, tokenEndpointProblem } from './token-endpoint-problem.ts';

/**
 * Merges the claims of userinfo and of the ID token. Where both have a claim, the signed one wins. `email_verified`
 * belongs to the address that came with it: that of userinfo never vouches for the address of the ID token, nor the
 * reverse.
 */
export function mergedClaims(userinfo: JsonObject, signed: JsonObject): JsonObject {
  const { email_verified: _, ...claims } = { ...userinfo, ...signed };
  const { email_verified: isVerified } = signed['email'] === undefined ? userinfo : signed;
  return isVerified === undefined ? claims : { ...claims, email_verified: isVerified };
}

/**
 * OpenID Connect Core §12.2: the same user; and a nonce, which should be absent, only if it equals that of the login.
 */
export function checkSameLogin(token: IdToken, known: KnownLogin): void {
  if (token.subject !== known.subject) {
    throw new LoginProblem('token', 'id_token_subject', 'the refreshed ID token is for another user ("sub")');
  }
  if (token.nonce !== undefined && token.nonce !== nonceOf(known)) {
    throw tokenProblem('id_token', 'nonce', 'the "nonce" of the refreshed ID token differs from that of the login');
  }
}

/** Claims of an ID token that was verified when it arrived. */
export function knownClaims({ idToken }: KnownLogin): JsonObject {
  return idToken === null ? {} : userClaims(decodeJwt(idToken));
}

/** Logins stored before nonces were kept have it in their ID token. */
function nonceOf({ nonce, idToken }: KnownLogin): unknown {
  return nonce ?? (idToken === null ? null : (decodeJwt(idToken)['nonce'] ?? null));
}

export interface ClientConfig {
  readonly issuer: string;
  readonly clientId: string;
  /** '' is a public client, protected by PKCE alone. */
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  /** Requested only if the provider announces them. */
  readonly scopesIfKnown?: readonly string[];
  readonly parameters?: LoginParameters | null;
}

type TokenAnswer = Awaited<ReturnType<typeof authorizationCodeGrant>>;

/**
 * One client at one provider: the authorization code flow with PKCE, refresh and logout. Failures are LoginProblems.
 */
export class OpenIdLoginClient implements LoginClient {
  readonly #provider: Provider;
  readonly #config: ClientConfig;
  readonly #scopes: readonly string[];

  constructor(provider: Provider, config: ClientConfig) {
    this.#provider = provider;
    this.#config = config;
    this.#scopes = [...new Set(['openid', ...config.scopes])];
  }

  async authorizationUrl(p: LoginStart & { readonly isSwitch?: boolean }): Promise<URL> {
    const metadata = await this.#provider.metadata();
    return buildAuthorizationUrl(this.#configuration(metadata), {
      response_type: 'code',
      scope: this.#requested(metadata).join(' '),
      redirect_uri: p.redirectUri,
      state: p.state,
      nonce: p.nonce,
      code_challenge: await calculatePKCECodeChallenge(p.codeVerifier),
      code_challenge_method: 'S256',
      ...requestParameters(this.#config.parameters ?? null),
      ...(p.isSwitch === true && { prompt: switchPrompt(metadata, this.#config.parameters?.prompt ?? '') }),
    });
  }

  #requested(metadata: DiscoveredMetadata): readonly string[] {
    const { scopesIfKnown = [] } = this.#config;
    const known = scopesIfKnown.filter((scope) => metadata.scopes_supported?.includes(scope) === true);
    return known.length === 0 ? this.#scopes : [...new Set([...this.#scopes, ...known])];
  }

  async checkCallback(p: { readonly callbackUrl: URL; readonly state: string }): Promise<string> {
    const metadata = await this.#provider.metadata();
    return checkCallback(p.callbackUrl.searchParams, {
      issuer: this.#config.issuer,
      isIssuerAnnounced: metadata.authorization_response_iss_parameter_supported === true,
      state: p.state,
    });
  }

  async exchange(p: LoginCallback): Promise<LoginTokens> {
    const code = await this.checkCallback(p);
    const maxAge = this.#config.parameters?.max_age ?? 0;
    const metadata = await this.#provider.metadata();
    // The library derives redirect_uri from this URL, so it is built from the exact text that the provider received
    // before.
    const callback = new URL(p.redirectUri);
    callback.search = p.callbackUrl.search;
    const answer = await this.#tokens(metadata, [code, p.codeVerifier], (configuration) =>
      authorizationCodeGrant(configuration, callback, {
        expectedState: p.state,
        expectedNonce: p.nonce,
        pkceCodeVerifier: p.codeVerifier,
        idTokenExpected: true,
        ...(maxAge > 0 && { maxAge }),
      }),
    );
    return this.#login(metadata, answer);
  }

  async refresh(known: KnownLogin): Promise<RefreshedTokens> {
    const metadata = await this.#provider.metadata();
    const answer = await this.#tokens(metadata, [known.refreshToken], (configuration) =>
      refreshTokenGrant(configuration, known.refreshToken),
    );
    const tokens = {
      accessToken: answer.access_token,
      refreshToken: answer.refresh_token ?? known.refreshToken,
      accessExpiresInSeconds: answer.expires_in ?? null,
    };
    try {
      const claims = await this.#refreshedClaims(metadata, answer, known);
      return { ...tokens, idToken: answer.id_token ?? null, claims, unconfirmed: null };
    } catch (error) {
      // The old refresh token may be used up: the new one must not be lost because keys or userinfo are temporarily
      // unavailable.
      if (!(error instanceof LoginProblem) || error.kind !== 'unreachable') throw error;
      return { ...tokens, idToken: null, claims: null, unconfirmed: error };
    }
  }

  async endSessionUrl(p: {
    readonly idToken: string | null;
    readonly postLogoutRedirectUri: string;
  }): Promise<URL | null> {
    const metadata = await this.#provider.metadata();
    if (metadata.end_session_endpoint === undefined) return null;
    return buildEndSessionUrl(this.#configuration(metadata), {
      ...(p.idToken === null ? {} : { id_token_hint: p.idToken }),
      post_logout_redirect_uri: p.postLogoutRedirectUri,
    });
  }

  verifyLogoutToken(token: string): Promise<LogoutToken> {
    return verifyLogoutToken(this.#provider, this.#config.clientId, token);
  }

  async #tokens(
    metadata: DiscoveredMetadata,
    secrets: readonly string[],
    ask: (configuration: Configuration) => Promise<TokenAnswer>,
  ): Promise<TokenAnswer> {
    const configuration = this.#configuration(metadata);
    return ask(configuration).catch(async (error: unknown) => {
      throw await tokenEndpointProblem(error, {
        endpoint: metadata.token_endpoint,
        secrets: [...secrets, this.#config.clientSecret],
      });
    });
  }

  async #login(metadata: DiscoveredMetadata, answer: TokenAnswer): Promise<LoginTokens> {
    const idToken = answer.id_token ?? '';
    const { subject, sid, claims } = await verifyIdToken(this.#provider, this.#config.clientId, idToken);
    return {
      subject,
      sid,
      claims: (await this.#completed(metadata, answer.access_token, subject, claims)) ?? claims,
      idToken,
      accessToken: answer.access_token,
      refreshToken: answer.refresh_token ?? null,
      accessExpiresInSeconds: answer.expires_in ?? null,
      grantedScopes: answer.scope === undefined ? this.#requested(metadata) : scopeWords(answer.scope),
    };
  }

  /** The provider's current claims about the user; null when there is nothing new. */
  async #refreshedClaims(
    metadata: DiscoveredMetadata,
    answer: TokenAnswer,
    known: KnownLogin,
  ): Promise<JsonObject | null> {
    if (answer.id_token === undefined) {
      return this.#completed(metadata, answer.access_token, known.subject, knownClaims(known));
    }
    const verified = await verifyIdToken(this.#provider, this.#config.clientId, answer.id_token);
    checkSameLogin(verified, known);
    const { subject, claims } = verified;
    return (await this.#completed(metadata, answer.access_token, subject, claims)) ?? claims;
  }

  /** The claims of an ID token merged with userinfo, or null when userinfo adds nothing. */
  async #completed(
    metadata: DiscoveredMetadata,
    accessToken: string,
    subject: string,
    claims: JsonObject,
  ): Promise<JsonObject | null> {
    const { userinfo_endpoint: url } = metadata;
    if (url === undefined || !lacksClaims(claims, this.#requested(metadata))) return null;
    const { clientId } = this.#config;
    return mergedClaims(await fetchUserinfo(this.#provider, url, accessToken, { subject, clientId }), claims);
  }

  /** Created for each operation: the library accepts the clock difference only here. */
  #configuration(metadata: DiscoveredMetadata): Configuration {
    const { clientId, clientSecret, issuer } = this.#config;
    const { clock, fetch } = this.#provider.ports;
    const skewSeconds = Math.round((clock.nowMs() - Date.now()) / 1000);
    const configuration = new Configuration(
      metadata,
      clientId,
      { [clockSkew]: skewSeconds, [clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      clientAuthentication(metadata, clientSecret),
    );
    configuration[customFetch] = async (url: string, { method, headers, body }: CustomFetchOptions) =>
      withoutLongChallenge(await fetch(url, { method, headers, body: body instanceof URLSearchParams ? body : null }));
    // The guarded fetch enforces the timeout, down to the last byte.
    configuration.timeout = 0;
    // Discovery has rejected plain http that settings do not allow.
    if (issuer.startsWith('http:')) allowInsecureRequests(configuration);
    return configuration;
  }
}

/**
 * Otherwise the provider would log the same account in again. Every provider knows "login" (OpenID Connect Core §15.1);
 * some reject "select_account" unless they announce it.
 */
function switchPrompt(metadata: object, asked: string): string {
  const { prompt_values_supported: known } = metadata as { readonly prompt_values_supported?: unknown };
  const chooses = Array.isArray(known) && known.includes('select_account') ? 'select_account' : 'login';
  // What the route asks for stays: a switch must not be a way around "log in again".
  return [...new Set([...asked.split(' ').filter((word) => word !== ''), chooses])].join(' ');
}

function requestParameters(parameters: LoginParameters | null): Record<string, string> {
  if (parameters === null) return {};
  const { prompt, max_age: maxAge, acr_values: acrValues, access_type: accessType } = parameters;
  return {
    ...(prompt !== '' && { prompt }),
    ...(maxAge > 0 && { max_age: String(maxAge) }),
    ...(acrValues.length > 0 && { acr_values: acrValues.join(' ') }),
    ...(accessType !== '' && { access_type: accessType }),
  };
}

/** Real ones have a hundred characters. */
const MAX_CHALLENGE_LENGTH = 2048;

/**
 * The library takes quadratic time to parse it (50 ms for 16 KB), and an agent can name its own server as the provider.
 */
export function withoutLongChallenge(response: Response): Response {
  const challenge = response.headers.get('www-authenticate') ?? '';
  if (challenge.length > MAX_CHALLENGE_LENGTH) response.headers.delete('www-authenticate');
  return response;
}

function scopeWords(scope: string): readonly string[] {
  return scope.split(' ').filter((word) => word !== '');
}
