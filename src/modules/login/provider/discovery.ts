import type { ServerMetadata } from 'openid-client';
import { atMost } from '../../../kit/async/waiting.ts';
import type { Clock } from '../../../kit/clock.ts';
import { messageOf } from '../../../kit/error-text.ts';
import type { GuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { isLoopbackHost } from '../../../kit/net/listen-address.ts';
import { askForJson } from './issuer-source.ts';
import { foreignText, LoginProblem } from './login-problem.ts';
import { SIGNING_ALGORITHMS } from './verify-token.ts';

interface DiscoveryPorts {
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

/** A provider that answered is asked again after this time, one that did not sooner. */
const GOOD_FOR_MS = 60_000;
const BAD_FOR_MS = 10_000;
/** The list of problems does not wait longer for providers. */
const WAIT_MS = 2_000;
const MAX_ISSUERS = 100;

interface Checked {
  readonly running: Promise<void>;
  /** Null while it is being asked for the first time. */
  result: { readonly atMs: number; readonly problem: string | null } | null;
}

/** Asks providers whether people could log in there, when somebody wants to know. */
export class IssuerChecks {
  readonly #discover: (issuer: string) => Promise<unknown>;
  readonly #clock: Clock;
  readonly #checked = new Map<string, Checked>();

  constructor(discover: (issuer: string) => Promise<unknown>, clock: Clock) {
    this.#discover = discover;
    this.#clock = clock;
  }

  /** Why providers cannot be asked, by issuer; without those that can, or that take too long to answer. */
  async problems(issuers: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const wanted = issuers.slice(0, MAX_ISSUERS);
    for (const issuer of this.#checked.keys()) if (!wanted.includes(issuer)) this.#checked.delete(issuer);
    const running = wanted.map((issuer) => this.#fresh(issuer).running);
    await atMost(Promise.all(running), WAIT_MS, null);
    const known = wanted.map((issuer) => [issuer, this.#checked.get(issuer)?.result?.problem ?? null] as const);
    return new Map(known.filter((entry): entry is [string, string] => entry[1] !== null));
  }

  #fresh(issuer: string): Checked {
    const known = this.#checked.get(issuer);
    if (known !== undefined && !this.#isDue(known)) return known;
    const checked: Checked = {
      result: known?.result ?? null,
      running: this.#ask(issuer, (result) => {
        checked.result = result;
      }),
    };
    this.#checked.set(issuer, checked);
    return checked;
  }

  #isDue({ result }: Checked): boolean {
    if (result === null) return false;
    const ageMs = this.#clock.nowMs() - result.atMs;
    return ageMs < 0 || ageMs >= (result.problem === null ? GOOD_FOR_MS : BAD_FOR_MS);
  }

  async #ask(issuer: string, done: (result: NonNullable<Checked['result']>) => void): Promise<void> {
    const problem = await this.#discover(issuer).then(() => null, messageOf);
    done({ atMs: this.#clock.nowMs(), problem });
  }
}
