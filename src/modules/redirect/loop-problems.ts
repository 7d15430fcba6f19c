import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { expand, SAMPLE } from '../path_rules/destination.ts';
import type { PathRule } from '../path_rules/path-rule.ts';
import { PathRules } from '../path_rules/path-rules.ts';

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
