import { isIP } from 'node:net';
import type { Clock } from '../../kit/clock.ts';
import { FetchProblem } from '../../kit/http/fetch-problem.ts';
import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { cidrMatcher, parseAddress, publicAddressGuard } from '../../kit/net/cidr.ts';
import { isLoopbackHost } from '../../kit/net/listen-address.ts';
import type { ConfiguredBy } from '../contract/agent-form.ts';
import type { ModuleNetwork } from '../contract/keeps-state.ts';
import type { CheckContext } from '../contract/module.ts';
import { otherSpelling, ownIssuerOf } from '../contract/own-issuer.ts';
import type { ProviderPorts } from './provider/providers.ts';
import type { LoginSettings } from './settings.ts';

/** The problem with an issuer's URL, or null. OpenID Connect Discovery 1.0 §3: https, no query, no fragment. */
export function issuerProblem(issuer: string, httpHosts: readonly string[]): string | null {
  if (/[\s\\\p{Cc}]/u.test(issuer)) return 'must not contain spaces, backslashes or control characters';
  if (!URL.canParse(issuer)) return 'must be an absolute URL such as "https://accounts.example.com"';
  const url = new URL(issuer);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https URL';
  // URL drops an empty "?" or "#", which would make the issuer differ from the one in the provider's tokens.
  if (issuer.includes('?') || issuer.includes('#')) return 'must not have a query or fragment';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname) && !httpHosts.includes(url.hostname)) {
    return `must be https: plain http is accepted only for loopback and for hosts in POSTERN_OIDC_HTTP_ISSUERS (add "${url.hostname}" there to allow it)`;
  }
  return null;
}

/** RFC 6761 §6.3: names under `localhost` resolve to these. */
const LOOPBACK = ['127.0.0.1', '::1'];

/**
 * The problem with an issuer named by an agent, or null. Other names are checked by their address when they are
 * dialled.
 */
function agentIssuerProblem(issuer: string, { isPlainHttpAllowed, isAddressAllowed }: IssuerLimits): string | null {
  const { protocol, hostname, port } = new URL(issuer);
  const advice = 'the operator of the server can allow more with the setting agent_issuer_allow_cidrs';
  const isTls = protocol === 'https:';
  if (!isTls && !isPlainHttpAllowed(hostname)) return `must be https when an agent requests it: ${advice}`;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const addresses = isIP(host) === 0 ? (isLoopbackHost(hostname) ? LOOPBACK : []) : [host];
  const dialledPort = port === '' ? (isTls ? 443 : 80) : Number(port);
  if (addresses.length === 0 || addresses.some((ip) => isAddressAllowed(ip, dialledPort, isTls))) return null;
  return `must have a public address when an agent requests it, and ${hostname} has none: ${advice}`;
}

/** Hosts (as in URL.hostname) that may be contacted without TLS. */
export function plainHttpHosts(httpHosts: readonly string[]): (hostname: string) => boolean {
  return (hostname) => isLoopbackHost(hostname) || httpHosts.includes(hostname);
}

/** The problem with an issuer in a module's configuration, or null: agents may name fewer issuers than operators. */
export function checkIssuer(issuer: string, { settings, agentNetwork }: CheckContext<LoginSettings>): string | null {
  const own = ownIssuerOf(settings);
  // The own issuer needs no network, so agents may name it too.
  if (issuer === own) return null;
  const problem = issuerProblem(issuer, settings.oidc_http_issuers) ?? otherSpelling(issuer, own);
  if (problem !== null || agentNetwork === undefined) return problem;
  const limits = agentIssuerLimits({
    allowedCidrs: settings.agent_issuer_allow_cidrs,
    isUpstreamAllowed: agentNetwork.isAddressAllowed,
    isPlainHttpAllowed: plainHttpHosts(settings.oidc_http_issuers),
  });
  return agentIssuerProblem(issuer, limits);
}

/**
 * How issuers are contacted. Separate: data about an operator's provider on a private network must not serve an agent.
 */
export function issuerPorts(
  settings: Pick<LoginSettings, 'oidc_http_issuers' | 'agent_issuer_allow_cidrs'>,
  network: ModuleNetwork,
  clock: Clock,
): Readonly<Record<ConfiguredBy, ProviderPorts>> {
  const isPlainHttpAllowed = plainHttpHosts(settings.oidc_http_issuers);
  const { isAddressAllowed, createFetch } = network;
  return {
    operator: { clock, isPlainHttpAllowed, fetch: createFetch({ isAddressAllowed, isPlainHttpAllowed }) },
    agent: {
      clock,
      ...agentIssuers({
        allowedCidrs: settings.agent_issuer_allow_cidrs,
        isUpstreamAllowed: isAddressAllowed,
        isPlainHttpAllowed,
        createFetch,
      }),
    },
  };
}

export interface AgentIssuerOptions {
  /** `agent_issuer_allow_cidrs`. */
  readonly allowedCidrs: readonly string[];
  /** Limits of operators' issuers; those of agents lie within them. */
  isUpstreamAllowed(ip: string, port: number): boolean;
  isPlainHttpAllowed(hostname: string): boolean;
}

/** Which servers may be contacted as issuers. */
interface IssuerLimits {
  readonly isPlainHttpAllowed: (hostname: string) => boolean;
  readonly isAddressAllowed: (ip: string, port: number, isTls: boolean) => boolean;
}

interface IssuerAccess extends IssuerLimits {
  readonly fetch: GuardedFetch;
}

/**
 * Requests that the server may make on behalf of an agent: https to public addresses, checked against the address that
 * is dialled. An agent's token is no permission to reach the server's own network. Ranges that the operator allows
 * count as public, and may be contacted over plain http where operators' issuers may.
 */
function agentIssuerLimits(options: AgentIssuerOptions): IssuerLimits {
  const { allowedCidrs } = options;
  const isPublic = publicAddressGuard(allowedCidrs);
  const listed = allowedCidrs.map(cidrMatcher);
  const isListed = (ip: string): boolean => {
    const address = parseAddress(ip);
    return address !== null && listed.some((matches) => matches(address));
  };
  const isAddressAllowed = (ip: string, port: number, isTls: boolean): boolean =>
    options.isUpstreamAllowed(ip, port) && (isTls ? isPublic(ip) : isListed(ip));
  const isPlainHttpAllowed = (hostname: string): boolean => listed.length > 0 && options.isPlainHttpAllowed(hostname);
  return { isAddressAllowed, isPlainHttpAllowed };
}

/** Within those limits. */
export function agentIssuers(
  options: AgentIssuerOptions & { readonly createFetch: ModuleNetwork['createFetch'] },
): IssuerAccess {
  const limits = agentIssuerLimits(options);
  const fetch = options.createFetch(limits);
  return {
    ...limits,
    fetch: (url, init) =>
      fetch(url, init).catch((error: unknown) => {
        if (!(error instanceof FetchProblem) || error.reason !== 'address_refused') throw error;
        const advice =
          'an issuer requested by an agent must have a public address, or one in a range of the setting agent_issuer_allow_cidrs';
        throw new FetchProblem('address_refused', new URL(url), `${error.explanation}: ${advice}`);
      }),
  };
}
