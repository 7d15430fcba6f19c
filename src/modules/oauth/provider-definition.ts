import type { JsonObject } from '../../lib/json.ts';
import type { ProviderApi } from './provider-api.ts';

export const PROVIDER_NAMES = [
  'amazon',
  'facebook',
  'github',
  'gitlab',
  'google',
  'linkedin',
  'microsoft',
  'twitch',
] as const;

export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** Absolute URLs, without a slash at the end. */
export interface ProviderEndpoints {
  readonly authorize_url: string;
  readonly token_url: string;
  readonly api_url: string;
}

/** What differs between the providers. */
export interface ProviderDefinition {
  readonly name: ProviderName;
  /** For pages and messages. */
  readonly title: string;
  readonly endpoints: ProviderEndpoints;
  /** Requested when the module names none. */
  readonly scopes: readonly string[];
  /** One of them is needed to learn the email address. */
  readonly emailScopes: readonly string[];
  /** One of them is needed to learn teams and organizations; empty: the provider has none. */
  readonly memberScopes: readonly string[];
  /** Further parameters of the login request, for a login that is checked again later. */
  readonly recheckParameters?: Readonly<Record<string, string>>;
  /** Lets the user choose another account; absent: the provider offers no way, and the user must log out there. */
  readonly switchParameters?: Readonly<Record<string, string>>;
  /** Whether the token response has an ID token that is verified. */
  readonly hasIdToken?: true;
  /** Whether the address counts in the module's own rules although the provider does not say that it is verified. */
  readonly isAccountEmailTrusted?: true;
  /** Asks the provider who has logged in. */
  loadUser(api: ProviderApi): Promise<OauthUser>;
}

export interface OauthUser {
  readonly subject: string;
  /** In the names of OpenID Connect where there are such names. */
  readonly claims: JsonObject;
}
