import {
  type Answer,
  isAnswer,
  isPass,
  type Pass,
  type Refusal,
  type TrafficRequest,
  type Verdict,
} from '../../modules/contract/decides.ts';
import type { AdmissionStep } from '../../snapshot/edge-snapshot.ts';

/**
 * What follows from the verdicts of a route's steps. There are four:
 *
 * | who asks | which steps | a step that needs time | a refusal |
 * |---|---|---|---|
 * | `Exchange`, for a new request | all, with their effects | is waited for | is the response, as a redirect is |
 * | `Reevaluation`, for a request in progress | those of modules that decide access; only those that grant no permit while one is held | is waited for | cuts the request |
 * | `OwnPathEntry`, for a path that a module serves | those of modules that decide access, before that module | has not admitted the request: a refusal | is the response, unless another route is open |
 * | `ExplainedWalk`, for a request that nobody has sent | all; a login assumes the person of the question | is waited for, not long | ends the explanation |
 */
export interface AdmissionWalk {
  /** The next step is asked afterwards. */
  passed(pass: Pass, at: number, steps: readonly AdmissionStep[]): void;
  /** No further step is asked. */
  refused(refusal: Refusal, at: number, steps: readonly AdmissionStep[]): void;
  /** The step responds itself: no further step is asked. */
  answered(answer: Answer, at: number, steps: readonly AdmissionStep[]): void;
  /** No further step is asked until `afterLate` has the verdict. */
  undecided(verdict: Promise<Verdict>, at: number, steps: readonly AdmissionStep[]): void;
  /** Every step has passed. */
  admitted(): void;
}

/**
 * Asks one step after the other, from `from` on: a later one decides by the permit that an earlier one sets. Nobody is
 * admitted in any other way. Nothing is allocated: this is the hot path.
 */
export function askSteps(
  steps: readonly AdmissionStep[],
  from: number,
  request: TrafficRequest,
  walk: AdmissionWalk,
): void {
  for (let at = from; at < steps.length; at += 1) {
    const verdict = (steps[at] as AdmissionStep).ask(request);
    if (isPass(verdict)) walk.passed(verdict, at, steps);
    else {
      if (verdict instanceof Promise) walk.undecided(verdict, at, steps);
      else end(verdict, at, steps, walk);
      return;
    }
  }
  walk.admitted();
}

/** Continues with the verdict of the step `at`, which needed time. */
export function afterLate(
  late: Verdict,
  at: number,
  steps: readonly AdmissionStep[],
  request: TrafficRequest,
  walk: AdmissionWalk,
): void {
  if (!isPass(late)) {
    end(late, at, steps, walk);
    return;
  }
  walk.passed(late, at, steps);
  askSteps(steps, at + 1, request, walk);
}

const LOCATION = /^https?:\/\/[\x21-\x7e]+$/;

function end(verdict: Refusal | Answer, at: number, steps: readonly AdmissionStep[], walk: AdmissionWalk): void {
  // A bug of a module, against its type: it is not written to the client as a response.
  if (!Number.isInteger(verdict.status)) throw new Error(`${steps[at]?.module} returned no verdict`);
  if (!isAnswer(verdict)) {
    walk.refused(verdict, at, steps);
    return;
  }
  if (!LOCATION.test(verdict.location)) throw new Error(`${steps[at]?.module} redirects to what is no absolute URL`);
  walk.answered(verdict, at, steps);
}
