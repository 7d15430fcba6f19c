import { FetchProblem } from '../../lib/http/fetch-problem.ts';
import type { GuardedFetch } from '../../lib/http/guarded-fetch.ts';
import { cidrMatcher, parseAddress } from '../../lib/net/cidr.ts';
import { publicAddressGuard } from '../../lib/net/public-address-guard.ts';
import type { ModuleNetwork } from '../contract/keeps-state.ts';

export interface AgentIssuerOptions {
  /** `agent_issuer_allow_cidrs`. */
  readonly allowedCidrs: readonly string[];
  /** Limits of operators' issuers; those of agents lie within them. */
  isUpstreamAllowed(ip: string, port: number): boolean;
  isPlainHttpAllowed(hostname: string): boolean;
}

/** Which servers may be contacted as issuers. */
export interface IssuerLimits {
  readonly isPlainHttpAllowed: (hostname: string) => boolean;
  readonly isAddressAllowed: (ip: string, port: number, isTls: boolean) => boolean;
}

export interface IssuerAccess extends IssuerLimits {
  readonly fetch: GuardedFetch;
}

/**
 * Requests that the server may make on behalf of an agent: https to public addresses, checked against the address that
 * is dialled. An agent's token is no permission to reach the server's own network. Ranges that the operator allows
 * count as public, and may be contacted over plain http where operators' issuers may.
 */
export function agentIssuerLimits(options: AgentIssuerOptions): IssuerLimits {
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
