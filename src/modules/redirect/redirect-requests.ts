import { matchKey } from '../../lib/http/match-key.ts';
import { withoutRootDot } from '../../lib/net/host-name.ts';
import type { Answer, Pass, Refusal, Verdict } from '../contract/decides.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import type { PathRule } from '../path_rules/path-rule.ts';
import { PathRules, type RuleResult } from '../path_rules/path-rules.ts';

export interface RedirectRule extends PathRule {
  readonly status_code: number;
}

/** Logins, and certificates of services, depend on these: with a redirect, neither could complete. */
const EXEMPT = /^\/\.(?:postern|well-known\/acme-challenge)\//;

const NO_RULE: Pass = { isPass: true, reason: 'no_rule' };
const OWN_PATH: Pass = { isPass: true, reason: 'own_path' };
const REFUSED: Refusal = {
  status: 400,
  code: 'ERR_POSTERN_REDIRECT_REFUSED',
  message: 'This address leads to no valid address. Check its spelling.',
  reason: 'result',
};

/** The first rule that matches redirects, unless it leads to the requested address itself. */
export function redirectRequests(rules: readonly RedirectRule[]): Pick<PreparedModule, 'judge'> {
  const compiled = new PathRules(rules, true);
  const judge = (request: TrafficRequest): Verdict => {
    if (EXEMPT.test(matchKey(request.path))) return OWN_PATH;
    for (let found = compiled.find(request); found !== null; found = compiled.find(request, found.at + 1)) {
      if (!found.isValid) return REFUSED;
      if (!isItself(found, request)) return answer(found, rules[found.at] as RedirectRule, request);
    }
    return NO_RULE;
  };
  return { judge };
}

function answer(found: RuleResult, rule: RedirectRule, { scheme, authority }: TrafficRequest): Answer {
  const { at, origin, target, fragment } = found;
  return {
    isAnswer: true,
    status: rule.status_code,
    location: `${origin ?? `${scheme}://${authority}`}${target}${fragment}`,
    reason: 'rule',
    ruleText: `rules[${at}] ${rule.match_type} ${rule.match}`,
  };
}

/** Plain HTTP counts as HTTPS of the same host, which is where it redirects to. */
function isItself({ origin, target }: RuleResult, request: TrafficRequest): boolean {
  if (target !== request.target) return false;
  if (origin === null) return true;
  const [scheme = '', authority = ''] = origin.split('://');
  const isSameScheme = scheme === request.scheme || request.scheme === 'https';
  return isSameScheme && sameSite(authority) === sameSite(request.authority.toLowerCase());
}

function sameSite(authority: string): string {
  return withoutRootDot(authority).replace(/:(?:443|80)$/, '');
}
