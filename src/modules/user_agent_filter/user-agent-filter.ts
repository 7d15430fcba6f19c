import type { Static } from 'typebox';
import Type from 'typebox';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import {
  areTooLargeTogether,
  compilePattern,
  isTooLarge,
  type LinearPattern,
  loadPatternEngine,
  maxTextLength,
} from '../../kit/text/linear-pattern.ts';
import type { AgentForm } from '../contract/agent-form.ts';
import type { Pass, Refusal, TrafficRequest, Verdict } from '../contract/decides.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import { userAgentFilterErrors } from './errors.ts';

const userAgentFilterAgentForm: AgentForm = {
  order: 8,
  key: 'user_agent_filter',
  shape: 'map',
  protocols: ['https', 'http'],
  fields: [
    {
      name: 'allow',
      example: '["(?i)firefox"]',
      isRepeated: true,
      flag: {
        name: 'ua-filter-allow',
        hint: 'PATTERN',
        description: 'Allow user agents that match, whatever is denied.',
      },
    },
    {
      name: 'deny',
      example: '["(?i)bot"]',
      isRepeated: true,
      flag: { name: 'ua-filter-deny', hint: 'PATTERN', description: 'Refuse user agents that match.' },
    },
  ],
  // An empty module would look like a protection and be hardly one.
  whenEmpty: 'user_agent_filter has no patterns: write allow or deny, or remove it',
  summary: ['user agents allow {allow}', 'user agents deny {deny}'],
};

const PASS: Pass = { isPass: true, reason: 'user_agent' };
const REFUSED: Refusal = {
  status: 403,
  code: 'ERR_POSTERN_USER_AGENT_NOT_ALLOWED',
  message: 'This site does not accept requests of this program. If you need access, contact the operator of this site.',
  reason: 'user_agent',
};

/** Allowed if a pattern of `allow` matches, or none of `deny` does. Only the first User-Agent counts. */
function filterUserAgents(lists: {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}): Pick<PreparedModule, 'judge'> {
  const [allow, deny] = [lists.allow.map(compiled), lists.deny.map(compiled)];
  const maxLength = maxTextLength([...allow, ...deny].reduce((total, { size }) => total + size, 0));
  const judge = (request: TrafficRequest): Verdict => {
    const agent = request.header('user-agent') ?? '';
    if (agent.length > maxLength) return REFUSED;
    if (allow.some((pattern) => pattern.test(agent))) return PASS;
    return agent === '' || deny.some((pattern) => pattern.test(agent)) ? REFUSED : PASS;
  };
  return { judge };
}

function compiled(source: string): LinearPattern {
  const pattern = compilePattern(source);
  if ('problem' in pattern) throw new Error(`the pattern ${source} ${pattern.problem}`);
  return pattern;
}

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
  on: ['requests'],
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
