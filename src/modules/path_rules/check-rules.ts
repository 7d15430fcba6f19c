import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import type { PathRule } from './path-rule.ts';
import { compileRule } from './path-rules.ts';

/** For all patterns together: each request may try all of them. */
const MAX_TOTAL_SIZE = 4_000;

/** The problems of rules as they were sent. */
export function ruleProblems(rules: readonly PathRule[], mayLeave: boolean): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  let total = 0;
  for (const [at, rule] of rules.entries()) {
    const compiled = compileRule(rule, mayLeave);
    if ('problem' in compiled) problems.push({ path: `/rules/${at}/${compiled.field}`, message: compiled.problem });
    else total += compiled.size;
  }
  if (total > MAX_TOTAL_SIZE)
    problems.push({
      path: '/rules',
      message: 'has regular expressions that are too large together: use fewer or simpler ones',
    });
  return problems;
}
