import { reporting } from '../../../kit/guarded-listeners.ts';
import { ownerOf } from '../../../kit/net/shared-places.ts';

/**
 * A client that takes less than this stands still: otherwise one byte now and then would do. Bytes count when all of a
 * part has left, up to 64 KiB.
 */
export const LEAST_READ_BYTES = 16 * 1024;
/**
 * For each address. Each response can fill the system's buffers of the connection to its upstream: 2.1 MB were
 * measured.
 */
const MOST_STALLED = 128;
const STALLED_MS = 5000;
/** While the machine's TCP memory is short, for the address that has most. */
const MOST_WHILE_SHORT = 8;
const STALLED_WHILE_SHORT_MS = 900;
const LOOK_EVERY_MS = 1000;

/** A response, or another stream to a client, whose sender is held back while the client does not read. */
export interface HeldResponse {
  readonly clientAddress: string;
  /** How long its sender has been held back, and its client has taken less than `LEAST_READ_BYTES`. 0: it is not. */
  heldForMs(nowMs: number): number;
  /** Ends it. */
  refuseUnsent(): void;
}

interface Held {
  readonly response: HeldResponse;
  readonly ms: number;
}

interface StalledResponsesOptions {
  readonly responses: () => Iterable<HeldResponse>;
  /** Whether the machine's TCP memory is short. Asked only while an address has several stalled responses. */
  readonly isMemoryShort: () => Promise<boolean>;
  /** Responses of an address were ended because it is. */
  readonly onRelieved: (address: string, count: number) => void;
}

/**
 * Bounds what clients that do not read hold in the system: an upstream fills the buffers of its connection and is held
 * back, and 1,000 of these reached the limit of all TCP buffers of a machine, so that tunnels stood still for 27 s.
 * Each address keeps 128 such responses, and fewer while the memory is short: those that have stood still longest are
 * ended.
 */
export class StalledResponses {
  readonly #options: StalledResponsesOptions;
  readonly #timer: NodeJS.Timeout;
  #isAsking = false;

  constructor(options: StalledResponsesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.look(performance.now()), LOOK_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Contains what it throws: a rejection that nobody handles would end the process. */
  async look(nowMs: number): Promise<void> {
    try {
      await this.#look(nowMs);
    } catch (error) {
      reporting('stalled responses').contain(error);
    }
  }

  async #look(nowMs: number): Promise<void> {
    let most = 0;
    for (const held of this.#held(nowMs).values()) {
      most = Math.max(most, held.length);
      endLongest(
        held.filter(({ ms }) => ms >= STALLED_MS),
        MOST_STALLED,
      );
    }
    if (most <= MOST_WHILE_SHORT || this.#isAsking) return;
    this.#isAsking = true;
    try {
      if (await this.#options.isMemoryShort()) this.#relieve(nowMs);
    } finally {
      this.#isAsking = false;
    }
  }

  #relieve(nowMs: number): void {
    const [largest] = [...this.#held(nowMs)].toSorted(([, a], [, b]) => b.length - a.length);
    if (largest === undefined) return;
    const [address, held] = largest;
    const count = endLongest(held, MOST_WHILE_SHORT);
    if (count > 0) this.#options.onRelieved(address, count);
  }

  #held(nowMs: number): ReadonlyMap<string, readonly Held[]> {
    const byOwner = new Map<string, Held[]>();
    for (const response of this.#options.responses()) {
      const ms = response.heldForMs(nowMs);
      if (ms < STALLED_WHILE_SHORT_MS) continue;
      const owner = ownerOf(response.clientAddress);
      const others = byOwner.get(owner);
      if (others === undefined) byOwner.set(owner, [{ response, ms }]);
      else others.push({ response, ms });
    }
    return byOwner;
  }
}

/** Returns how many were ended. */
function endLongest(held: readonly Held[], most: number): number {
  if (held.length <= most) return 0;
  const ended = held.toSorted((a, b) => b.ms - a.ms).slice(0, held.length - most);
  for (const { response } of ended) response.refuseUnsent();
  return ended.length;
}
