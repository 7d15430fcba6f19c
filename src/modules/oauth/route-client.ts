import type { LearningClient, LearningContext } from '../contract/learns-claims.ts';
import type { ProviderConfig } from './oauth-config.ts';
import type { ProviderDefinition, ProviderName } from './provider-definition.ts';
import { providerDefinitions } from './providers/provider-definitions.ts';
import type { OauthSettings } from './settings.ts';

/** Claims that GitHub gives for `memberScopes`. */
const MEMBER_CLAIMS = ['organizations', 'teams', 'team_ids'];

/** The client of a route at its provider, and what it requests. */
export function oauthRouteClient(
  { name, config }: { readonly name: ProviderName; readonly config: ProviderConfig },
  { settings, asked }: LearningContext,
): LearningClient {
  const definition = providerDefinitions[name];
  const { oauth_endpoints: endpoints } = settings as OauthSettings;
  const areMembersAsked = asked.some(({ claims }) => claims.some((claim) => MEMBER_CLAIMS.includes(claim)));
  return {
    issuer: issuerOf(name, endpoints),
    clientId: config.client_id,
    isDiscovered: false,
    scopes: scopesOf(definition, config, areMembersAsked),
    scopesFor: (claim) => scopesFor(definition, claim),
  };
}

/** Names the provider in sessions, users and assertions. Another server of the same kind is another issuer. */
export function issuerOf(name: ProviderName, endpoints: OauthSettings['oauth_endpoints']): string {
  return { ...providerDefinitions[name].endpoints, ...endpoints[name] }.authorize_url;
}

function scopesOf(
  { scopes, memberScopes }: ProviderDefinition,
  config: ProviderConfig,
  areMembersAsked: boolean,
): readonly string[] {
  if (config.scopes.length > 0) return config.scopes;
  const hasMembers = (config.teams?.length ?? 0) + (config.organizations?.length ?? 0) > 0;
  return hasMembers || areMembersAsked ? [...scopes, ...memberScopes.slice(0, 1)] : scopes;
}

function scopesFor({ emailScopes, memberScopes }: ProviderDefinition, claim: string): readonly string[] {
  if (claim === 'email' || claim === 'email_verified') return emailScopes;
  return MEMBER_CLAIMS.includes(claim) ? memberScopes : [];
}
