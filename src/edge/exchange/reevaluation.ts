import type { Answer, Refusal, Verdict } from '../../modules/contract/decides.ts';
import type { AdmissionStep, EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import { handshakeSuffices } from '../connections/handshake-suffices.ts';
import { type AdmissionWalk, afterLate, askSteps } from './ask-steps.ts';
import type { Exchange } from './exchange.ts';

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
