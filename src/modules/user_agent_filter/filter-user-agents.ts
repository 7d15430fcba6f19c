import { compilePattern, type LinearPattern } from '../../lib/text/linear-pattern.ts';
import { maxTextLength } from '../../lib/text/pattern-budget.ts';
import type { Pass, Refusal, Verdict } from '../contract/decides.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';

const PASS: Pass = { isPass: true, reason: 'user_agent' };
const REFUSED: Refusal = {
  status: 403,
  code: 'ERR_POSTERN_USER_AGENT_NOT_ALLOWED',
  message: 'This site does not accept requests of this program. If you need access, contact the operator of this site.',
  reason: 'user_agent',
};

/** Allowed if a pattern of `allow` matches, or none of `deny` does. Only the first User-Agent counts. */
export function filterUserAgents(lists: {
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
