import { isIP } from 'node:net';
import { hostNameProblem } from '../../lib/net/host-name.ts';

/** Suffixes that no public CA issues for: RFC 6761, RFC 6762, RFC 7686, RFC 8375, and ICANN's "internal". */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'test', 'invalid', 'home.arpa', 'onion'];

/** Whether a public CA could issue a certificate for the name. Wildcards count by the name below them. */
export function isPublicName(host: string): boolean {
  const name = host.startsWith('*.') ? host.slice(2) : host;
  // Served, but forbidden in certificates (CA/Browser Forum, ballot SC12).
  if (name.includes('_')) return false;
  if (!name.includes('.') || isIP(name) !== 0 || hostNameProblem(host, 'allowed') !== null) return false;
  return !PRIVATE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
}
