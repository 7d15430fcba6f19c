import type { AskedClaims } from '../contract/learns-claims.ts';
import type { Rule, RuleSet } from './access-config.ts';

/** The claims that each rule about people reads. */
export function askedClaims({ allow, deny }: Pick<RuleSet, 'allow' | 'deny'>): readonly AskedClaims[] {
  const asked = (list: 'allow' | 'deny') => (rule: Rule, at: number) => ({
    rule: `${list}[${at}]`,
    claims: claimsOf(rule),
  });
  return [...allow.map(asked('allow')), ...deny.map(asked('deny'))].filter(({ claims }) => claims.length > 0);
}

function claimsOf({ emails, email_domains: domains, claims = {} }: Rule): readonly string[] {
  return [...(emails === undefined && domains === undefined ? [] : ['email']), ...Object.keys(claims)];
}
