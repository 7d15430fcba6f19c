import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';

/** An exchange as this list sees it. */
export interface LiveExchange {
  readonly connection: { readonly edgeId: string };
  /** Maintained by the list; -1 when it is not listed. */
  livePosition: number;
  reevaluate(edge: EdgeSnapshot | null): void;
  /** Its permit may have ended, and a stream may have lasted. */
  look(nowMs: number): void;
  /** The server stops: closes it if it is a WebSocket, and returns whether it is one. */
  goAway(): boolean;
}

/**
 * Requests in progress, by edge, so that a change reaches those that it would now reject.
 *
 * Lists with swap-remove, not Sets: a Set with this rate of additions and deletions grows a new table every few dozen
 * requests, and the discarded tables keep each other, and with them half of all finished requests, alive until the next
 * full garbage collection (measured: a quarter of all that is allocated).
 */
export class LiveExchanges<T extends LiveExchange = LiveExchange> {
  readonly #byEdge = new Map<string, T[]>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(exchange: T): void {
    const { edgeId } = exchange.connection;
    let list = this.#byEdge.get(edgeId);
    if (list === undefined) {
      list = [];
      this.#byEdge.set(edgeId, list);
    }
    exchange.livePosition = list.length;
    list.push(exchange);
    this.#count += 1;
  }

  delete(exchange: T): void {
    const { livePosition, connection } = exchange;
    if (livePosition === -1) return;
    exchange.livePosition = -1;
    this.#count -= 1;
    const list = this.#byEdge.get(connection.edgeId);
    const last = list?.pop();
    if (list === undefined || last === undefined || last === exchange) return;
    list[livePosition] = last;
    last.livePosition = livePosition;
  }

  *all(): Iterable<T> {
    for (const list of this.#byEdge.values()) yield* list;
  }

  look(nowMs: number): void {
    for (const [edgeId, list] of this.#byEdge) {
      // Connections outlive their edge, and each may have delivered one more request.
      if (list.length === 0) this.#byEdge.delete(edgeId);
      // Iterates backwards: a cut exchange leaves, and the last one takes its place.
      for (let at = list.length - 1; at >= 0; at -= 1) list[at]?.look(nowMs);
    }
  }

  /** Closes WebSockets, and returns how many are still open. */
  goAway(): number {
    let count = 0;
    for (const list of this.#byEdge.values()) for (const exchange of [...list]) if (exchange.goAway()) count += 1;
    return count;
  }

  reevaluate(edgeId: string, now: EdgeSnapshot | null): void {
    const list = this.#byEdge.get(edgeId);
    for (const exchange of list === undefined ? [] : [...list]) exchange.reevaluate(now);
    // Empty lists stay for a while: an edge with one request at a time would create one for each.
    if (now === null && list?.length === 0) this.#byEdge.delete(edgeId);
  }
}
