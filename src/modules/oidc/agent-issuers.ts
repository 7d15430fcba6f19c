import type { LookupFunction } from 'node:net';
import { cidrMatcher, parseAddress } from '../../lib/cidr.ts';
import { FetchProblem } from '../../lib/fetch-problem.ts';
import { createGuardedFetch } from '../../lib/guarded-fetch.ts';
import { publicAddressGuard } from '../../lib/public-address-guard.ts';
import type { IssuerAccess } from '../module-runtime.ts';

export interface AgentIssuerOptions {
  /** `agent_issuer_allow_cidrs`. */
  readonly allowedCidrs: readonly string[];
  /** Limits of operators' issuers; those of agents lie within them. */
  isUpstreamAllowed(ip: string, port: number): boolean;
  isPlainHttpAllowed(hostname: string): boolean;
  readonly lookup: LookupFunction;
}

/**
 * Requests that the server may make on behalf of an agent: https to public addresses, checked against the address that
 * is dialled. An agent's token is no permission to reach the server's own network. Ranges that the operator allows
 * count as public, and may be contacted over plain http where operators' issuers may.
 */
export function agentIssuers(options: AgentIssuerOptions): IssuerAccess {
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
  const fetch = createGuardedFetch({ isAddressAllowed, isPlainHttpAllowed, lookup: options.lookup });
  return {
    isAddressAllowed,
    isPlainHttpAllowed,
    fetch: (url, init) =>
      fetch(url, init).catch((error: unknown) => {
        if (!(error instanceof FetchProblem) || error.reason !== 'address_refused') throw error;
        const advice =
          'an issuer requested by an agent must have a public address, or one in a range of the setting agent_issuer_allow_cidrs';
        throw new FetchProblem('address_refused', new URL(url), `${error.explanation}: ${advice}`);
      }),
  };
}
