import type { ServerMetadata } from 'openid-client';
import type { GuardedFetch } from '../../../lib/http/guarded-fetch.ts';
import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import { isLoopbackHost } from '../../../lib/net/listen-address.ts';
import { askForJson } from './ask-provider.ts';
import { foreignText, LoginProblem } from './login-problem.ts';
import { SIGNING_ALGORITHMS } from './signing-algorithms.ts';

export interface DiscoveryPorts {
  readonly fetch: GuardedFetch;
  isPlainHttpAllowed(hostname: string): boolean;
}

/** The fields of the provider's document that are used, validated. */
export interface DiscoveredMetadata extends ServerMetadata {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly jwks_uri: string;
  readonly id_token_signing_alg_values_supported: string[];
}

const REQUIRED_ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;
const OPTIONAL_ENDPOINTS = ['userinfo_endpoint', 'end_session_endpoint'] as const;

/** OpenID Connect Discovery 1.0 §4: a trailing slash of the issuer is ignored here, though not in comparisons. */
function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/**
 * Fetches and validates the provider's document. Only validated fields are copied, so that nothing else of it can
 * matter.
 */
export async function discover(issuer: string, ports: DiscoveryPorts): Promise<DiscoveredMetadata> {
  const document = await askForJson(ports.fetch, discoveryUrl(issuer));
  checkIssuer(issuer, document['issuer']);
  const responseTypes = words(document, 'response_types_supported');
  if (responseTypes !== null && !responseTypes.includes('code')) {
    throw new LoginProblem(
      'configuration',
      'code_unsupported',
      `${issuer} does not support the authorization code flow: its response_types_supported has no "code"`,
    );
  }
  const usable = usableAlgorithms(document, issuer);
  const methods = words(document, 'token_endpoint_auth_methods_supported');
  const scopes = words(document, 'scopes_supported');
  const isSecure = (url: URL): boolean => isSecureEndpoint(url, issuer, ports);
  const [authorization, token, jwks] = REQUIRED_ENDPOINTS.map((name) => requiredEndpoint(document, name, isSecure));
  return {
    issuer,
    authorization_endpoint: authorization ?? '',
    token_endpoint: token ?? '',
    jwks_uri: jwks ?? '',
    ...Object.fromEntries(
      OPTIONAL_ENDPOINTS.map((name) => [name, endpoint(document, name, isSecure)]).filter(([, url]) => url !== null),
    ),
    id_token_signing_alg_values_supported: usable,
    ...(methods === null ? {} : { token_endpoint_auth_methods_supported: [...methods] }),
    ...(scopes === null ? {} : { scopes_supported: [...scopes] }),
    ...(document['authorization_response_iss_parameter_supported'] === true
      ? { authorization_response_iss_parameter_supported: true }
      : {}),
  };
}

/** What is needed to verify tokens of an issuer that is no OpenID provider for people, such as a CI system. */
export interface KeySource {
  readonly jwks_uri: string;
  readonly id_token_signing_alg_values_supported: string[];
}

/** Such issuers have the same document without the endpoints of a login. */
export async function discoverKeySource(issuer: string, ports: DiscoveryPorts): Promise<KeySource> {
  const document = await askForJson(ports.fetch, discoveryUrl(issuer));
  checkIssuer(issuer, document['issuer']);
  return {
    jwks_uri: requiredEndpoint(document, 'jwks_uri', (url) => isSecureEndpoint(url, issuer, ports)),
    id_token_signing_alg_values_supported: usableAlgorithms(document, issuer),
  };
}

function usableAlgorithms(document: JsonObject, issuer: string): string[] {
  const algorithms = words(document, 'id_token_signing_alg_values_supported');
  const usable = SIGNING_ALGORITHMS.filter((algorithm) => algorithms?.includes(algorithm) ?? true);
  if (usable.length === 0) {
    throw new LoginProblem(
      'configuration',
      'algorithms_unsupported',
      `${issuer} signs ID tokens with none of the algorithms ${SIGNING_ALGORITHMS.join(', ')}`,
    );
  }
  return usable;
}

/** §4.3: exactly the configured issuer; otherwise tokens of another would be accepted as its own. */
function checkIssuer(issuer: string, said: JsonValue | undefined): void {
  if (said === issuer) return;
  const shown = typeof said === 'string' ? `"${foreignText(said)}"` : 'none';
  if (typeof said === 'string' && said.includes('{tenantid}')) {
    throw new LoginProblem(
      'configuration',
      'issuer_template',
      `${issuer} is the multi-tenant address of Microsoft Entra: its issuer is ${shown}, which stands for any tenant. Use the issuer of your tenant, such as https://login.microsoftonline.com/<tenant id>/v2.0`,
    );
  }
  throw new LoginProblem(
    'configuration',
    'issuer_mismatch',
    `the discovery document of ${issuer} names another issuer: ${shown}. The two must be identical`,
  );
}

type IsSecure = (url: URL) => boolean;

/** Plain http is for endpoints of an issuer that itself uses plain http, with settings that allow both hosts. */
function isSecureEndpoint(url: URL, issuer: string, ports: DiscoveryPorts): boolean {
  if (url.protocol === 'https:') return true;
  return (
    url.protocol === 'http:' &&
    issuer.startsWith('http:') &&
    (isLoopbackHost(url.hostname) || ports.isPlainHttpAllowed(url.hostname))
  );
}

function requiredEndpoint(document: JsonObject, name: string, isSecure: IsSecure): string {
  const url = endpoint(document, name, isSecure);
  if (url !== null) return url;
  throw new LoginProblem('configuration', 'endpoint_missing', `the discovery document has no "${name}"`);
}

function endpoint(document: JsonObject, name: string, isSecure: IsSecure): string | null {
  const value = document[name];
  if (value === undefined || value === null) return null;
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new LoginProblem('provider', 'malformed_answer', `the discovery document's "${name}" is not a usable URL`);
  }
  if (!isSecure(url)) {
    throw new LoginProblem(
      'configuration',
      'endpoint_insecure',
      `the discovery document's "${name}" is not https: ${foreignText(`${url.origin}${url.pathname}`)}`,
    );
  }
  return url.href;
}

/** A list of strings, or null when absent. */
function words(document: JsonObject, name: string): readonly string[] | null {
  const value = document[name];
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && value.every((word) => typeof word === 'string')) return value;
  throw new LoginProblem('provider', 'malformed_answer', `the discovery document's "${name}" is not a list of words`);
}
