import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { LruMap } from '../../kit/lru-map.ts';
import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import type { LearningClient, LearningContext } from '../contract/prepare.ts';
import { plainHttpHosts } from '../login/issuer-problem.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';
import type { LoginSettings } from '../login/settings.ts';
import { TenantTokens } from './oauth-client.ts';
import { chosenProvider, type ProviderConfig } from './oauth-config.ts';
import type { ProviderDefinition, ProviderEndpoints, ProviderName } from './provider-definition.ts';
import { providerDefinitions } from './providers.ts';
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
function issuerOf(name: ProviderName, endpoints: OauthSettings['oauth_endpoints']): string {
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

const MAX_TENANT_ENDPOINTS = 10;

/** The module's part of the logins of this process. */
export class OauthRuntime implements ModuleRuntime {
  readonly login: LoginRuntime;
  readonly fetch: GuardedFetch;
  readonly #ports: Pick<RuntimePorts, 'clock'>;
  readonly #endpoints: OauthSettings['oauth_endpoints'];
  readonly #tenants = new LruMap<string, TenantTokens>(MAX_TENANT_ENDPOINTS);

  constructor(ports: RuntimePorts, settings: OauthSettings & LoginSettings) {
    this.#ports = ports;
    this.#endpoints = settings.oauth_endpoints;
    this.login = ports.shared(login);
    this.fetch = ports.network.createFetch({
      isAddressAllowed: ports.network.isAddressAllowed,
      isPlainHttpAllowed: plainHttpHosts(settings.oidc_http_issuers),
    });
    this.login.keepClients((edgeId) =>
      ports.ownConfigs(edgeId).flatMap((config) => {
        const chosen = chosenProvider(config as never);
        return chosen === null ? [] : [{ issuer: this.issuerOf(chosen.name), clientId: chosen.config.client_id }];
      }),
    );
  }

  endpointsOf(name: ProviderName): ProviderEndpoints {
    return { ...providerDefinitions[name].endpoints, ...this.#endpoints[name] };
  }

  issuerOf(name: ProviderName): string {
    return issuerOf(name, this.#endpoints);
  }

  /** Keys are shared by all clients of the same endpoint. */
  tenantTokens(authorizeUrl: string): TenantTokens {
    const known = this.#tenants.get(authorizeUrl) ?? this.#newTenantTokens(authorizeUrl);
    this.#tenants.set(authorizeUrl, known);
    return known;
  }

  #newTenantTokens(authorizeUrl: string): TenantTokens {
    const endpoint = authorizeUrl.replace(/\/oauth2\/v2\.0\/authorize$/, '');
    return new TenantTokens(this.login.tenantIssuer(endpoint), this.#ports.clock);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
