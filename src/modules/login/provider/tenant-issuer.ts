import { askForJson } from './ask-provider.ts';
import { FetchedIssuer, type IssuerSource } from './issuer-source.ts';
import { LoginProblem } from './login-problem.ts';
import type { ProviderPorts } from './provider.ts';

/** Published by an endpoint that serves the tenants of one provider. */
export interface TenantMetadata {
  /** Such as `https://login.microsoftonline.com/{tenantid}/v2.0`. */
  readonly issuer: string;
  readonly jwks_uri: string;
}

/** `endpoint`: such as `https://login.microsoftonline.com/common`. */
export function fetchedTenantIssuer(endpoint: string, ports: ProviderPorts): IssuerSource<TenantMetadata> {
  const { fetch, clock } = ports;
  return new FetchedIssuer({ fetch, clock, discover: () => discoverTenants(endpoint, fetch) });
}

async function discoverTenants(endpoint: string, fetch: ProviderPorts['fetch']): Promise<TenantMetadata> {
  const document = await askForJson(fetch, `${endpoint}/v2.0/.well-known/openid-configuration`);
  const { issuer, jwks_uri: keysUrl } = document;
  if (typeof issuer !== 'string' || typeof keysUrl !== 'string' || !URL.canParse(keysUrl)) {
    throw new LoginProblem(
      'provider',
      'malformed_answer',
      `the discovery document of ${endpoint} has no issuer or keys`,
    );
  }
  // Keys from elsewhere could be anybody's.
  if (new URL(keysUrl).origin !== new URL(endpoint).origin) {
    throw new LoginProblem('configuration', 'endpoint_insecure', `the keys of ${endpoint} are on another host`);
  }
  return { issuer, jwks_uri: keysUrl };
}
