import type { EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { Exchange } from './exchange.ts';

/** Requests under way, by edge, so that a change reaches those that it would now refuse. */
export class LiveExchanges {
  readonly #byEdge = new Map<string, Set<Exchange>>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(exchange: Exchange): void {
    const { edgeId } = exchange.connection;
    const known = this.#byEdge.get(edgeId);
    if (known === undefined) this.#byEdge.set(edgeId, new Set([exchange]));
    else known.add(exchange);
    this.#count += 1;
  }

  delete(exchange: Exchange): void {
    const known = this.#byEdge.get(exchange.connection.edgeId);
    if (known?.delete(exchange) !== true) return;
    this.#count -= 1;
    if (known.size === 0) this.#byEdge.delete(exchange.connection.edgeId);
  }

  judgeAgain(edgeId: string, now: EdgeSnapshot | null): void {
    for (const exchange of [...(this.#byEdge.get(edgeId) ?? [])]) exchange.judgeAgain(now);
  }
}
