import {
  type Answer,
  isAnswer,
  isPass,
  type Pass,
  type Refusal,
  type TrafficRequest,
  type Verdict,
} from '../../../modules/contract/decides.ts';
import type { AdmissionStep, EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import { handshakeSuffices } from '../connections/connection-facts.ts';
import type { Exchange } from './exchange.ts';

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

/** Asks whether a request in progress would still be admitted, and cuts it if not. */
export class Reevaluation implements AdmissionWalk {
  readonly #exchange: Exchange;
  #isSuperseded = false;
  #isWaiting = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /** Whether a module still decides: until then nobody knows who sends the request. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** With `keepsPermit`, the module that granted the permit has already decided. */
  start(steps: readonly AdmissionStep[], keepsPermit: boolean): void {
    const asked = keepsPermit ? steps.filter(({ grantsPermit }) => !grantsPermit) : steps;
    askSteps(asked, 0, this.#exchange, this);
  }

  /** A later change is evaluated instead. */
  supersede(): void {
    this.#isSuperseded = true;
  }

  passed(): void {}

  refused(_refusal: Refusal, at: number, steps: readonly AdmissionStep[]): void {
    this.#exchange.cut((steps[at] as AdmissionStep).module);
  }

  /** Only of a module that decides access, which has no right to it: the request does not continue. */
  answered(_answer: Answer, at: number, steps: readonly AdmissionStep[]): void {
    this.#exchange.cut((steps[at] as AdmissionStep).module);
  }

  undecided(verdict: Promise<Verdict>, at: number, steps: readonly AdmissionStep[]): void {
    this.#isWaiting = true;
    verdict
      .then((late) => {
        this.#isWaiting = false;
        if (this.#isSuperseded || this.#exchange.isDone) return;
        afterLate(late, at, steps, this.#exchange, this);
      })
      .catch((error: unknown) => this.#exchange.bug(error));
  }

  admitted(): void {
    // The upstream has another one's name, for example of a person who may now enter only as a guest.
    if (this.#exchange.isOfAnother()) this.#exchange.cut('identity');
    else this.#exchange.decidedAgain();
  }
}

/** The route that a request in progress would take on its connection now; null when none would serve it. */
export function currentRoute(exchange: Exchange, edge: EdgeSnapshot | null): RouteSnapshot | null {
  const { runtime, connection, client, host } = exchange;
  // The host may have moved to another edge.
  if (edge === null || runtime.findEdge(host)?.id !== connection.edgeId) return null;
  if (!handshakeSuffices(connection, edge, runtime.clock.nowMs())) return null;
  const route = edge.routes.match(client.head.path, host).found;
  return route === null || route.problem !== null ? null : route;
}
