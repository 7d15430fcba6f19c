import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { expand, SAMPLE } from '../path_rules/destination.ts';
import type { PathRule } from '../path_rules/path-rule.ts';
import { PathRules } from '../path_rules/path-rules.ts';

/** Browsers follow no more. */
const MAX_REDIRECTS = 20;

/** Follows every path that the rules name. Rules that have other problems throw. */
export function loopProblems(rules: readonly PathRule[]): readonly FieldProblem[] {
  const compiled = new PathRules(rules, true);
  return rules.flatMap((rule, at) => {
    const looping = startsOf(rule, compiled, at).find((path) => loops(path, compiled));
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

function loops(path: string, rules: PathRules): boolean {
  let target = path;
  for (let count = 0; count < MAX_REDIRECTS; count += 1) {
    const found = rules.find({ path: target.split('?', 1)[0] ?? '', target });
    if (found === null || found.origin !== null || !found.isValid) return false;
    // Later it does not apply, but nobody writes such a rule on purpose.
    if (found.target === target) return count === 0;
    target = found.target;
  }
  return true;
}
