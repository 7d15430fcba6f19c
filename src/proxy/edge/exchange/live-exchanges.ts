import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { ClientSide } from '../connections/connection-facts.ts';
import { TOO_SLOW } from '../http/incoming-request.ts';

/** An exchange as this list sees it. */
export interface LiveExchange {
  readonly connection: { readonly edgeId: string };
  /** Maintained by the list; -1 when it is not listed. */
  livePosition: number;
  reevaluate(edge: EdgeSnapshot | null): void;
  /** The exchange's permit may have ended, and a stream may have lasted. */
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

/** An exchange as this check sees it. */
export interface Sender {
  readonly client: Pick<ClientSide, 'source' | 'isBodyWhole'> & {
    readonly writer: Pick<ClientSide['writer'], 'onGone'>;
  };
  readonly connection: { retire(): void };
  readonly isAnswering: boolean;
  readonly bytesIn: number;
}

interface SlowSendersOptions {
  /** 0: disabled. */
  readonly minBytesPerSecond: number;
  isScarce(): boolean;
  senders(): Iterable<Sender>;
}

/** A phone that changes cells can be silent for some seconds. */
export const LOOK_EVERY_MS = 5000;

/**
 * While requests are scarce, ends those whose client sends its body too slowly: a byte now and then would hold a place
 * indefinitely, from any number of addresses. Byte counts are compared between two passes over all requests in
 * progress, so that a request costs nothing extra. While there is room, slow clients are accepted.
 */
export class SlowSenders {
  readonly #options: SlowSendersOptions;
  #seen = new Map<Sender, number>();
  #seenAtMs = 0;

  constructor(options: SlowSendersOptions) {
    this.#options = options;
  }

  look(nowMs: number): void {
    const { minBytesPerSecond } = this.#options;
    const before = this.#seen;
    const leastBytes = (minBytesPerSecond * (nowMs - this.#seenAtMs)) / 1000;
    this.#seen = new Map();
    this.#seenAtMs = nowMs;
    if (minBytesPerSecond === 0 || !this.#options.isScarce()) return;
    const tooSlow: Sender[] = [];
    for (const sender of this.#options.senders()) {
      if (!owesBody(sender)) continue;
      const bytesBefore = before.get(sender);
      if (bytesBefore !== undefined && sender.bytesIn - bytesBefore < leastBytes) tooSlow.push(sender);
      else this.#seen.set(sender, sender.bytesIn);
    }
    // Deferred: an exchange that ends leaves the list being iterated.
    for (const { connection, client } of tooSlow) {
      // RFC 9110 §15.5.9: the rest of the body is not awaited.
      connection.retire();
      client.writer.onGone(TOO_SLOW);
    }
  }
}

/** If received bytes are waiting to be read, the upstream is slow, not the client. */
function owesBody({ isAnswering, client: { source, isBodyWhole } }: Sender): boolean {
  if (source === null || isAnswering) return false;
  return !source.readableEnded && source.readableLength === 0 && !isBodyWhole();
}
