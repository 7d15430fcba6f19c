import { isIP } from 'node:net';
import { isLoopbackHost } from '../../lib/net/listen-address.ts';
import type { IssuerLimits } from './agent-issuers.ts';

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
export function agentIssuerProblem(
  issuer: string,
  { isPlainHttpAllowed, isAddressAllowed }: IssuerLimits,
): string | null {
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
