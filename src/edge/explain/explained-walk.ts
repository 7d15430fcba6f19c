import { atMost } from '../../lib/async/waiting.ts';
import {
  type Answer,
  type AssumedPerson,
  isAnswer,
  isPass,
  type Pass,
  type Refusal,
  type TrafficRequest,
  type Verdict,
} from '../../modules/contract/decides.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { AdmissionStep } from '../../snapshot/edge-snapshot.ts';
import { type AdmissionWalk, afterLate, askSteps } from '../exchange/ask-steps.ts';
import type { ExplainedDecision } from './explanation.ts';

/** A module that has not decided by then needs something that is not here, such as a provider's answer. */
const DECIDES_WITHIN_MS = 3_000;
const NO_TEXT = 'The module gives no further explanation.';
const UNDECIDED = 'The module needs data from elsewhere to decide, which an explanation does not fetch.';

/** Writes down what the modules of a route decide about a request that nobody has sent. */
export class ExplainedWalk implements AdmissionWalk {
  readonly decisions: ExplainedDecision[] = [];
  refusal: Refusal | null = null;
  answer: Answer | null = null;
  isUndecided = false;
  readonly #request: TrafficRequest;
  readonly #modules: readonly Module[];
  readonly #ended = Promise.withResolvers<void>();

  private constructor(request: TrafficRequest, modules: readonly Module[]) {
    this.#request = request;
    this.#modules = modules;
  }

  /** Resolves when it has ended. */
  static async through(
    steps: readonly AdmissionStep[],
    request: TrafficRequest,
    as: AssumedPerson | null,
    modules: readonly Module[],
  ): Promise<ExplainedWalk> {
    const walk = new ExplainedWalk(request, modules);
    askSteps(as === null ? steps : steps.map((step) => assuming(step, as)), 0, request, walk);
    await walk.#ended.promise;
    return walk;
  }

  passed(pass: Pass, at: number, steps: readonly AdmissionStep[]): void {
    this.#decided(pass, at, steps);
  }

  refused(refusal: Refusal, at: number, steps: readonly AdmissionStep[]): void {
    this.refusal = refusal;
    this.#end(refusal, 'A module before it refuses the request.', at, steps);
  }

  answered(answer: Answer, at: number, steps: readonly AdmissionStep[]): void {
    this.answer = answer;
    this.#end(answer, 'A module before it redirects the request.', at, steps);
  }

  #end(verdict: Verdict, why: string, at: number, steps: readonly AdmissionStep[]): void {
    this.#decided(verdict, at, steps);
    for (const { module } of steps.slice(at + 1)) this.decisions.push(skipped(module, 'not_reached', why));
    this.#ended.resolve();
  }

  undecided(verdict: Promise<Verdict>, at: number, steps: readonly AdmissionStep[]): void {
    // Null: it is still undecided, or it fails without the network.
    atMost(
      verdict.catch(() => null),
      DECIDES_WITHIN_MS,
      null,
    )
      .then((late) => {
        if (late !== null) afterLate(late, at, steps, this.#request, this);
        else {
          this.decisions.push(skipped((steps[at] as AdmissionStep).module, 'undecided', UNDECIDED));
          this.isUndecided = true;
          this.#ended.resolve();
        }
      })
      .catch(this.#ended.reject);
  }

  admitted(): void {
    this.#ended.resolve();
  }

  #decided(verdict: Verdict, at: number, steps: readonly AdmissionStep[]): void {
    const { module } = steps[at] as AdmissionStep;
    if (isAnswer(verdict)) {
      const { reason, ruleText: rule, location } = verdict;
      this.decisions.push({ module, decision: 'answer', reason, rule, text: `It redirects to ${location}` });
      return;
    }
    const rule = verdict.rule?.text ?? (isPass(verdict) ? verdict.wouldRefuse?.rule : verdict.accessRule) ?? undefined;
    const reasons = this.#modules.find(({ name }) => name === module)?.reasons;
    const wouldRefuse = isPass(verdict) ? verdict.wouldRefuse : undefined;
    const text = isPass(verdict) ? (verdict.text ?? reasons?.[verdict.reason] ?? NO_TEXT) : verdict.message;
    this.decisions.push({
      module,
      decision: isPass(verdict) ? 'pass' : 'refuse',
      reason: wouldRefuse === undefined ? verdict.reason : 'would_refuse',
      ...(rule !== undefined && { rule }),
      text: wouldRefuse === undefined ? text : `The rules are rehearsed: they would refuse it (${wouldRefuse.reason}).`,
    });
  }
}

export function skipped(module: string, reason: string, text: string): ExplainedDecision {
  return { module, decision: 'skipped', reason, text };
}

function assuming(step: AdmissionStep, person: AssumedPerson): AdmissionStep {
  const { assume } = step;
  return assume === undefined ? step : { ...step, ask: (request) => assume(request, person) };
}
