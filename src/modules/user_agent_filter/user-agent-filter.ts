import Type, { type Static } from 'typebox';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { compilePattern, loadPatternEngine } from '../../lib/text/linear-pattern.ts';
import { areTooLargeTogether, isTooLarge } from '../../lib/text/pattern-budget.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import { userAgentFilterAgentForm } from './agent-form.ts';
import { userAgentFilterErrors } from './errors.ts';
import { filterUserAgents } from './filter-user-agents.ts';

const MAX_PATTERNS = 20;
const MAX_PATTERN_LENGTH = 512;
const TOO_LARGE = bodyProblem('deny', 'and "allow" are too large together: use fewer or simpler patterns');

const patterns = (what: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_PATTERN_LENGTH }), {
    default: [],
    maxItems: MAX_PATTERNS,
    description: `Regular expressions in the syntax of RE2, such as "(?i)bot": at most ${MAX_PATTERNS}, of up to ${MAX_PATTERN_LENGTH} characters. ${what}`,
  });

const userAgentFilterConfig = Type.Object({
  enabled: enabledField,
  allow: patterns(
    'A user agent that one of them matches is allowed, whatever "deny" says. "^$" allows requests without a User-Agent.',
  ),
  deny: patterns('A user agent that one of them matches is refused, unless "allow" matches.'),
});

/** Refuses programs by the name that they give themselves. */
export const userAgentFilter = defineModule({
  name: 'user_agent_filter',
  level: 'route',
  decidesAccess: true,
  readsPath: false,
  title: 'User agent filter module',
  description:
    'Refuses requests by their User-Agent: those that a pattern of "deny" matches and none of "allow", and those without one.',
  config: userAgentFilterConfig,
  example: { deny: ['(?i)\\bscraper\\b'] },
  load: () => loadPatternEngine(),
  check,
  agent: { form: userAgentFilterAgentForm },
  reasons: { user_agent: 'The patterns allow the user agent.' },
  errors: { title: 'Traffic: user agents', rows: userAgentFilterErrors.rows },
  prepare: (config) => ({ ok: true, prepared: filterUserAgents(config) }),
});

function check({ allow, deny }: Static<typeof userAgentFilterConfig>): readonly FieldProblem[] {
  if (areTooLargeTogether([...allow, ...deny])) return [TOO_LARGE];
  const problems: FieldProblem[] = [];
  let total = 0;
  for (const [field, list] of [
    ['allow', allow],
    ['deny', deny],
  ] as const) {
    for (const [at, source] of list.entries()) {
      const pattern = compilePattern(source);
      if ('problem' in pattern) problems.push({ path: `/${field}/${at}`, message: pattern.problem });
      else total += pattern.size;
    }
  }
  if (isTooLarge(total)) problems.push(TOO_LARGE);
  return problems;
}
