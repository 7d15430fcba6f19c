import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { areTooLargeTogether, isTooLarge } from '../../lib/text/pattern-budget.ts';
import type { PathRule } from './path-rule.ts';
import { compileRule } from './path-rules.ts';

const TOO_LARGE: FieldProblem = {
  path: '/rules',
  message: 'has regular expressions that are too large together: use fewer or simpler ones',
};

/** The problems of rules as they were sent. */
export function ruleProblems(rules: readonly PathRule[], mayLeave: boolean): readonly FieldProblem[] {
  const patterns = rules.filter(({ match_type: type }) => type === 'regex');
  if (areTooLargeTogether(patterns.map(({ match }) => match))) return [TOO_LARGE];
  const problems: FieldProblem[] = [];
  let total = 0;
  for (const [at, rule] of rules.entries()) {
    const compiled = compileRule(rule, mayLeave);
    if ('problem' in compiled) problems.push({ path: `/rules/${at}/${compiled.field}`, message: compiled.problem });
    else total += compiled.size;
  }
  if (isTooLarge(total)) problems.push(TOO_LARGE);
  return problems;
}
