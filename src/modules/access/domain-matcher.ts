import { domainName } from '../../lib/text/email-address.ts';

export type DomainMatcher = (domain: string) => boolean;

const BELOW = '*.';

/** Matches domains in the form of `domainName`. */
export function domainMatcher(patterns: readonly string[]): DomainMatcher {
  const exact = new Set(patterns.filter((pattern) => !pattern.startsWith(BELOW)).map(domainName));
  const suffixes = patterns
    .filter((pattern) => pattern.startsWith(BELOW))
    .map((pattern) => domainName(pattern.slice(BELOW.length)))
    .filter((domain) => domain !== null)
    .map((domain) => `.${domain}`);
  return (domain) => exact.has(domain) || suffixes.some((suffix) => domain.endsWith(suffix));
}

/** The problem with a pattern, or null. */
export function domainPatternProblem(pattern: string): string | null {
  const domain = pattern.startsWith(BELOW) ? pattern.slice(BELOW.length) : pattern;
  if (domain.includes('@')) return 'must be a domain without "@", such as "example.com"';
  if (domain.includes('*')) return 'may have "*." only at the start, such as "*.example.com"';
  return domainName(domain) === null
    ? 'must be a domain name, such as "example.com" or "*.example.com", without a dot at the end'
    : null;
}
