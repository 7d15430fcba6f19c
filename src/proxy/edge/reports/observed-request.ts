import type { OtherDecision, Pass } from '../../../modules/contract/decides.ts';
import type { AdmissionStep, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { PassedBy } from '../../telemetry/requests/recorded-request.ts';
import type { ModuleDecision } from '../../telemetry/traffic-facts.ts';
import type { RequestTrace } from '../../tracing/request-trace.ts';
import type { TrafficCounter } from '../../upstream/upstream.ts';
import { ReceivedRequest } from '../exchange/received-request.ts';

const NONE: readonly never[] = [];

/** A request with the facts that log, metrics and history report about it. */
export class ObservedRequest extends ReceivedRequest {
  readonly startedAt = performance.now();
  status = 0;
  bytesIn = 0;
  bytesOut = 0;
  errorCode: string | null = null;
  /** The module and reason that ended it early, such as `ip_restriction:address`. */
  refusedBy: string | null = null;
  /** The step of its route that refused or redirected it; null: none did. */
  endingStep: number | null = null;
  /** The module and reason of a redirect, such as `redirect:rule`. */
  answeredBy: string | null = null;
  targetName: string | null = null;
  tunnelNode: string | null = null;
  counter: TrafficCounter | null = null;
  /** What a module decided that let it pass, where `allow` says too little. */
  otherDecision: { readonly module: string; readonly decision: OtherDecision } | null = null;
  /** The rehearsed access rule that would have refused it. */
  wouldRefuse: NonNullable<Pass['wouldRefuse']> | null = null;
  /** The module and rule that would have refused it, of those that decide no access, such as `rate_limit:limits[0]`. */
  wouldRefuseBy: string | null = null;
  /** The access rule that refused it; null when none let it in, undefined when no access rule refused it. */
  refusingRule: string | null | undefined;
  /** The rule that refused or redirected it, for people. */
  decidingRuleText: string | null = null;
  /** While decisions are kept: names of modules and why they let it pass, in turn. */
  passes: readonly (string | PassedBy)[] = NONE;
  /** Modules that did not answer at once, and how many milliseconds they took, in turn. */
  waits: readonly (string | number)[] = NONE;
  /** When each of these modules was asked, by `performance.now()`. */
  waitStarts: readonly number[] = NONE;
  /** Null until it is forwarded or has ended, and while nothing is traced. */
  trace: RequestTrace | null = null;
  /** When all modules had admitted it, and when its response began, by `performance.now()`; 0: not yet. */
  admittedAt = 0;
  answeredAt = 0;

  /** One array for all modules of a route. */
  protected keepPass(pass: Pass, at: number, steps: readonly AdmissionStep[]): void {
    if (this.passes.length === 0) this.passes = new Array<string | PassedBy>(steps.length * 2);
    const passes = this.passes as (string | PassedBy)[];
    passes[at * 2] = (steps[at] as AdmissionStep).module;
    passes[at * 2 + 1] = pass;
  }

  protected keepRehearsal(
    wouldRefuse: NonNullable<Pass['wouldRefuse']>,
    { module, decidesAccess }: AdmissionStep,
  ): void {
    if (decidesAccess) this.wouldRefuse = wouldRefuse;
    else this.wouldRefuseBy = `${module}:${wouldRefuse.rule ?? wouldRefuse.reason}`;
  }

  protected keepWait(module: string, askedAt: number): void {
    this.waits = [...this.waits, module, performance.now() - askedAt];
    this.waitStarts = [...this.waitStarts, askedAt];
  }

  /** The decisions so far do not count. */
  protected forgetDecisions(): void {
    this.wouldRefuse = null;
    this.otherDecision = null;
    this.wouldRefuseBy = null;
    this.passes = NONE;
    this.waits = NONE;
    this.waitStarts = NONE;
  }
}

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
