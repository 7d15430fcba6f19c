import type { JsonObject } from '../../kit/json.ts';
import type { LoginProblem } from './provider/login-problem.ts';

/**
 * One client at one provider: how a login module starts, finishes, continues and ends logins. Failures are
 * LoginProblems.
 */
export interface LoginClient {
  /** Where the browser logs in. */
  authorizationUrl(
    start: LoginStart & { /** Lets the user choose another account. */ readonly isSwitch?: boolean },
  ): Promise<URL>;
  /** The checks of `exchange` before it contacts the provider, so that an invalid callback costs nothing. */
  checkCallback(callback: Pick<LoginCallback, 'callbackUrl' | 'state'>): Promise<unknown>;
  exchange(callback: LoginCallback): Promise<LoginTokens>;
  /** Asks the provider again about a login. */
  refresh(known: KnownLogin): Promise<RefreshedTokens>;
  /** URL that ends the provider's own session too, or null when the provider has none. */
  endSessionUrl(ended: {
    readonly idToken: string | null;
    readonly postLogoutRedirectUri: string;
  }): Promise<URL | null>;
  /** For providers with OpenID Connect Back-Channel Logout. */
  verifyLogoutToken?(token: string): Promise<LogoutToken>;
}

export interface LoginStart {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface LoginCallback extends LoginStart {
  /** The redirect URI with the browser's query; only its query is used. */
  readonly callbackUrl: URL;
}

export interface LoginTokens {
  readonly subject: string;
  /** Claims about the user, including `sub`. Protocol fields are removed. */
  readonly claims: JsonObject;
  readonly sid: string | null;
  /** Null from providers without OpenID Connect. */
  readonly idToken: string | null;
  readonly accessToken: string | null;
  readonly refreshToken: string | null;
  readonly accessExpiresInSeconds: number | null;
  readonly grantedScopes: readonly string[];
}

/** The login that a refresh must continue. */
export interface KnownLogin {
  readonly subject: string;
  /** '' when there is none. */
  readonly refreshToken: string;
  readonly accessToken?: string | null;
  /** The newest verified one; null when none is known. */
  readonly idToken: string | null;
  /** From the authorization request; null when unknown. */
  readonly nonce: string | null;
}

export interface RefreshedTokens {
  readonly accessToken: string;
  /** The one to use next: a new one, or the given one when the provider does not rotate. */
  readonly refreshToken: string;
  readonly accessExpiresInSeconds: number | null;
  /** Null when the response had no ID token: then the old one stays. */
  readonly idToken: string | null;
  /** All current claims about the user; null when there is nothing new. */
  readonly claims: JsonObject | null;
  /** Why nothing could be verified although tokens arrived: keep them, and ask about the user again. */
  readonly unconfirmed: LoginProblem | null;
}

export interface LogoutToken {
  readonly sub: string | null;
  readonly sid: string | null;
  /** Each is valid for one use; the caller remembers it. */
  readonly jti: string;
  /** When it is rejected for its age. */
  readonly validUntilMs: number;
}

/** What a route asks of the provider at each login, beyond scopes. */
export type LoginParameters = {
  /** Such as `login`, to show the login form even if the provider knows the browser; '' asks for nothing. */
  readonly prompt: string;
  /** Seconds since the user last entered credentials; 0 asks for nothing. */
  readonly max_age: number;
  readonly acr_values: readonly string[];
  /** Google's: `offline` asks for a refresh token; '' asks for nothing. */
  readonly access_type: string;
};

/** Null when nothing is asked for. */
export function askedParameters(parameters: LoginParameters): LoginParameters | null {
  const { prompt, max_age: maxAge, acr_values: acrValues, access_type: accessType } = parameters;
  return prompt === '' && maxAge === 0 && acrValues.length === 0 && accessType === '' ? null : parameters;
}

/** Whether a login that asked for `made` satisfies a route that asks for `wanted`. */
export function isAskedFor(wanted: LoginParameters, made: LoginParameters | null): boolean {
  if (wanted.prompt !== '' && wanted.prompt !== made?.prompt) return false;
  const madeAge = made?.max_age ?? 0;
  if (wanted.max_age !== 0 && (madeAge === 0 || madeAge > wanted.max_age)) return false;
  return wanted.acr_values.length === 0 || String(wanted.acr_values) === String(made?.acr_values);
}
