import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { ModuleDecision } from '../../telemetry/facts/request-facts.ts';

/** What each module of the route decided about a finished request. Derived, so that requests without an event cost nothing. */
export function moduleDecisions({
  route,
  refusedBy,
  targetName,
}: {
  readonly route: RouteSnapshot | null;
  readonly refusedBy: string | null;
  readonly targetName: string | null;
}): Readonly<Record<string, ModuleDecision>> {
  if (route === null) return {};
  const by = refusedBy?.split(':', 1)[0] ?? '';
  const refusing = route.steps.findLastIndex(({ module }) => module === by);
  // Modules that change requests come after all verdicts.
  const isAdmitted = targetName !== null || by === 'backend' || route.requestChangers.some(({ name }) => name === by);
  const decisions: Record<string, ModuleDecision> = {};
  for (const [at, { module }] of route.steps.entries()) {
    if (refusing === -1) decisions[module] = isAdmitted ? 'allow' : 'invalid';
    else decisions[module] = at < refusing ? 'allow' : at === refusing ? 'block' : 'invalid';
  }
  return decisions;
}
