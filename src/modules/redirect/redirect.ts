import Type from 'typebox';
import { matchKey } from '../../kit/http/urls.ts';
import { withoutRootDot } from '../../kit/net/host-name.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import { loadPatternEngine } from '../../kit/text/linear-pattern.ts';
import type { Answer, Pass, Refusal, TrafficRequest, Verdict } from '../contract/decides.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import {
  expand,
  firstRule,
  type PathRule,
  PathRules,
  type RuleResult,
  ruleAgent,
  ruleProblems,
  rulesField,
  SAMPLE,
} from '../path_rules/path-rules.ts';
import { redirectErrors } from './errors.ts';

const STATUSES: readonly number[] = [301, 302, 307, 308];

const redirectAgent = ruleAgent({
  name: 'redirect',
  order: 9,
  usage: 'TYPE MATCH TO [STATUS]',
  example: 'path_prefix /old/ /new/ 308',
  what: 'Redirect paths',
  fields: ([status = '302', ...others]) => {
    const code = STATUSES.find((each) => String(each) === status);
    if (code === undefined || others.length > 0)
      return 'the status of a rule is 301, 302, 307 or 308, and its last word';
    return { status_code: code };
  },
});

/** Browsers follow no more. */
const MAX_REDIRECTS = 20;
/** Steps of patterns times characters for all paths together: nothing else happens meanwhile. */
const MAX_WORK = 4_000_000;

/** Follows every path that the rules name, as long as that is no great work. Rules that have other problems throw. */
export function loopProblems(rules: readonly PathRule[]): readonly FieldProblem[] {
  const compiled = new PathRules(rules, true);
  const work = { left: MAX_WORK };
  return rules.flatMap((rule, at) => {
    const looping = startsOf(rule, compiled, at).find((path) => loops(path, compiled, work));
    if (looping === undefined) return [];
    const message = `leads into a loop: the rules redirect "${looping.slice(0, 80)}" again and again`;
    return [{ path: `/rules/${at}/to`, message }];
  });
}

/** Paths that a visitor could ask for: what the rule matches, or for a pattern what it leads to. */
function startsOf({ match_type: type, match }: PathRule, rules: PathRules, at: number): readonly string[] {
  if (type === 'exact_path') return [match];
  if (type === 'path_prefix') return [match, `${match}${match.endsWith('/') ? '' : '/'}x`];
  const { origin, path } = rules.destinationOf(at);
  return origin === null ? [expand(path, SAMPLE)] : [];
}

function loops(path: string, rules: PathRules, work: { left: number }): boolean {
  let target = path;
  for (let count = 0; count < MAX_REDIRECTS; count += 1) {
    work.left -= rules.size * target.length;
    if (work.left < 0) return false;
    const found = rules.find({ path: target.split('?', 1)[0] ?? '', target });
    if (found === null || found.origin !== null || !found.isValid) return false;
    // Later it does not apply, but nobody writes such a rule on purpose.
    if (found.target === target) return count === 0;
    target = found.target;
  }
  return true;
}

interface RedirectRule extends PathRule {
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
function redirectRequests(rules: readonly RedirectRule[]): Pick<PreparedModule, 'judge'> {
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

/** Sends visitors to other addresses. */
export const redirect = defineModule({
  name: 'redirect',
  on: ['requests'],
  decidesAccess: false,
  readsPath: ({ rules }) => firstRule(rules),
  title: 'Redirect module',
  description: 'Redirects requests to other addresses, by rules for their paths.',
  config: Type.Object({
    enabled: enabledField,
    rules: rulesField(
      'Rules for paths',
      'Where the visitor is sent: a path on this site, such as "/new/", or an address that starts with "https://" or "http://", a host and "/".',
      {
        status_code: Type.Enum([301, 302, 307, 308], {
          default: 302,
          description:
            'Status of the redirect. 301 and 308 are permanent: browsers remember them. 307 and 308 keep method and body. Default: 302.',
        }),
      },
    ),
  }),
  example: { rules: [{ match_type: 'path_prefix', match: '/old/', to: '/new/', status_code: 308 }] },
  load: ({ rules }) => (rules.some(({ match_type: type }) => type === 'regex') ? loadPatternEngine() : null),
  check: ({ rules }) => {
    const problems = ruleProblems(rules, true);
    return problems.length > 0 ? problems : loopProblems(rules);
  },
  agent: redirectAgent,
  reasons: {
    no_rule: 'No rule matches the path.',
    own_path: 'Paths under /.postern/ and challenges of ACME servers are not redirected.',
  },
  errors: { title: 'Traffic: redirects', rows: redirectErrors.rows },
  prepare: ({ rules }) => ({ ok: true, prepared: redirectRequests(rules) }),
});
