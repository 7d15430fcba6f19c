import type { ClientSide } from '../connections/client-side.ts';
import { TOO_SLOW } from '../http/request-problem.ts';

/** An exchange as this check sees it. */
export interface Sender {
  readonly client: Pick<ClientSide, 'source' | 'isBodyWhole'> & {
    readonly writer: Pick<ClientSide['writer'], 'onGone'>;
  };
  readonly connection: { retire(): void };
  readonly isAnswering: boolean;
  readonly bytesIn: number;
}

export interface SlowSendersOptions {
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
