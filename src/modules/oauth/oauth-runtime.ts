import type { GuardedFetch } from '../../lib/http/guarded-fetch.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { plainHttpHosts } from '../login/issuer-problem.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';
import type { LoginSettings } from '../login/settings.ts';
import { chosenProvider } from './oauth-config.ts';
import type { ProviderEndpoints, ProviderName } from './provider-definition.ts';
import { providerDefinitions } from './providers/provider-definitions.ts';
import { issuerOf } from './route-client.ts';
import type { OauthSettings } from './settings.ts';
import { TenantTokens } from './tenant-tokens.ts';

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
