import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { ModuleDecision } from '../../telemetry/traffic-facts.ts';
import type { ObservedRequest } from './observed-request.ts';

/** What each module of the route decided about a finished request. Derived, so that requests without an event cost nothing. */
export function moduleDecisions({
  route,
  refusedBy,
  answeredBy,
  endingStep,
  targetName,
  otherDecision,
}: {
  readonly route: RouteSnapshot | null;
  readonly refusedBy: string | null;
  readonly answeredBy: string | null;
  readonly endingStep: number | null;
  readonly targetName: string | null;
  readonly otherDecision: ObservedRequest['otherDecision'];
}): Readonly<Record<string, ModuleDecision>> {
  if (route === null) return {};
  const ended = answeredBy === null ? 'block' : 'answer';
  const by = refusedBy?.split(':', 1)[0] ?? '';
  // Modules that change requests come after all verdicts.
  const isAdmitted = targetName !== null || by === 'backend' || route.requestChangers.some(({ name }) => name === by);
  const decisions: Record<string, ModuleDecision> = {};
  for (const [at, { module, isLater }] of route.steps.entries()) {
    const decision = endingStep === null ? (isAdmitted ? 'allow' : 'invalid') : decisionAt(at, endingStep, ended);
    // A module that was asked at its first place has decided, also if its second one was not reached.
    const isDecided = decisions[module] === ended || (isLater === true && decision === 'invalid');
    if (!isDecided) decisions[module] = decision;
  }
  const { module = '', decision } = otherDecision ?? {};
  if (decision !== undefined && decisions[module] === 'allow') decisions[module] = decision;
  return decisions;
}

function decisionAt(at: number, ending: number, ended: ModuleDecision): ModuleDecision {
  if (at === ending) return ended;
  return at < ending ? 'allow' : 'invalid';
}
