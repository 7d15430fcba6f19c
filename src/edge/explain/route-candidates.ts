import { matchKey } from '../../lib/http/urls.ts';
import type { CanonicalPath } from '../../snapshot/canonical-path.ts';
import type { EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { RouteMatch } from '../../snapshot/route-table.ts';
import type { Candidate } from './explanation.ts';

const MAX_CANDIDATES = 1_000;

/** The other routes of the edge, and why none of them serves the path. */
export function routeCandidates(
  edge: EdgeSnapshot,
  { key }: CanonicalPath,
  match: RouteMatch<RouteSnapshot>,
): readonly Candidate[] {
  const { found } = match;
  const refused = found === null && match.reason === 'strict' ? STRICT : AMBIGUOUS;
  return edge.routes.all
    .filter((route) => route.id !== found?.id)
    .slice(0, MAX_CANDIDATES)
    .map((route) => ({ routeId: route.id, whyNot: whyNot(route, key, found, refused) }));
}

const AMBIGUOUS = 'The path is ambiguous, so no route serves it.';
const STRICT = 'It matches, but the route refuses paths that programs read differently.';

function whyNot(
  { matchType, match }: RouteSnapshot,
  key: string,
  found: RouteSnapshot | null,
  refused: string,
): string {
  const wanted = matchKey(match);
  if (matchType === 'exact_path' && key !== wanted) return `The path is not exactly "${match}".`;
  if (matchType === 'path_prefix' && !key.startsWith(wanted)) return `The path does not start with "${match}".`;
  if (found === null) return refused;
  return found.matchType === 'exact_path'
    ? `It matches, but the exact path "${found.match}" takes precedence.`
    : `It matches, but the prefix "${found.match}" is longer.`;
}
