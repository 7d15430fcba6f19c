import Type from 'typebox';
import { loadPatternEngine } from '../../lib/text/linear-pattern.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import { ruleProblems } from '../path_rules/check-rules.ts';
import { firstRule, rulesField } from '../path_rules/path-rule.ts';
import { redirectAgent } from './agent-form.ts';
import { redirectErrors } from './errors.ts';
import { loopProblems } from './loop-problems.ts';
import { redirectRequests } from './redirect-requests.ts';

/** Sends visitors to other addresses. */
export const redirect = defineModule({
  name: 'redirect',
  level: 'route',
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
