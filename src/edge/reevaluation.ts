import { isPass, type Verdict } from '../modules/prepared-module.ts';
import type { AdmissionStep, EdgeSnapshot, RouteSnapshot } from '../snapshot/edge-snapshot.ts';
import type { Exchange } from './exchange.ts';
import { handshakeSuffices } from './handshake-suffices.ts';

/**
 * Asks whether a request in progress would still be admitted, and cuts it if not. The steps are asked one after the
 * other: a later one decides by the permit that an earlier one sets.
 */
export class Reevaluation {
  readonly #exchange: Exchange;
  readonly #steps: readonly AdmissionStep[];
  readonly #keepsPermit: boolean;
  #isSuperseded = false;
  #isWaiting = false;

  /** With `keepsPermit`, the module that granted the permit has already decided. */
  constructor(exchange: Exchange, steps: readonly AdmissionStep[], keepsPermit: boolean) {
    this.#exchange = exchange;
    this.#steps = steps;
    this.#keepsPermit = keepsPermit;
  }

  /** Whether a module still decides: until then nobody knows who sends the request. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  start(): void {
    this.#askFrom(0);
  }

  /** A later change is evaluated instead. */
  supersede(): void {
    this.#isSuperseded = true;
  }

  #askFrom(position: number): void {
    for (let at = position; at < this.#steps.length; at += 1) {
      const step = this.#steps[at] as AdmissionStep;
      if (this.#keepsPermit && step.grantsPermit) continue;
      const verdict = step.ask(this.#exchange);
      if (isPass(verdict)) continue;
      if (verdict instanceof Promise) this.#askLater(verdict, at, step.module);
      else this.#exchange.cut(step.module);
      return;
    }
    // The upstream has another one's name, for example of a person who may now enter only as a guest.
    if (this.#exchange.isOfAnother()) this.#exchange.cut('identity');
    else this.#exchange.decidedAgain();
  }

  #askLater(verdict: Promise<Verdict>, at: number, module: string): void {
    this.#isWaiting = true;
    verdict
      .then((late) => {
        this.#isWaiting = false;
        if (this.#isSuperseded || this.#exchange.isDone) return;
        if (isPass(late)) this.#askFrom(at + 1);
        else this.#exchange.cut(module);
      })
      .catch((error: unknown) => this.#exchange.bug(error));
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
