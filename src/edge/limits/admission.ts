import type { EdgeTallies } from './edge-tallies.ts';
import { SharedBudget } from './shared-budget.ts';

/** Concurrency limits of one process. 0: no limit. */
export interface AdmissionLimits {
  /** Requests whose response has not started. */
  readonly maxRequests: number;
  /** Responses in progress, and WebSockets. */
  readonly maxStreams: number;
  /** Share of either that one client address may hold once half of it is in use. 100: all. */
  readonly addressSharePercent: number;
  /** Minimum rate of request bodies while half of the requests are in use. 0: none. */
  readonly minBodyBytesPerSecond: number;
}

/** The limit that rejected a request, as named in metrics. */
export type AdmissionLimit = 'requests' | 'streams' | 'bodies' | 'address_requests' | 'address_streams';

/** The setting behind each limit. */
export const SETTING_OF_LIMIT: Readonly<Record<AdmissionLimit, string>> = {
  requests: 'edge_requests_in_flight',
  streams: 'edge_streams_in_flight',
  bodies: 'edge_requests_in_flight',
  address_requests: 'edge_address_share',
  address_streams: 'edge_address_share',
};

/** An exchange as the admission sees it. */
export interface Admitted {
  readonly clientAddress: string;
  readonly isAnswering: boolean;
}

/** Requests with a body leave the rest to those without: slow senders cannot hold everything. */
const PART_FOR_BODIES = 3 / 4;

/**
 * Bounds the work of one process, so that a flood does not affect the API, the agents' heartbeats and memory (50,000
 * concurrent requests took 993 MiB, and an API read 5 s). Requests and streams count separately: a thousand idle
 * WebSockets do not use up room for requests. No client address can exhaust either for all others.
 */
export class Admission {
  readonly #requests: SharedBudget;
  readonly #streams: SharedBudget;

  /** `admitted`: everything that has started and not ended. */
  constructor(limits: AdmissionLimits, admitted: () => Iterable<Admitted>, threads: Partial<EdgeTallies> = {}) {
    const { addressSharePercent: sharePercent } = limits;
    this.#requests = new SharedBudget({
      max: limits.maxRequests,
      sharePercent,
      holders: () => addressesOf(admitted(), false),
      threads: threads.requests ?? null,
    });
    this.#streams = new SharedBudget({
      max: limits.maxStreams,
      sharePercent,
      holders: () => addressesOf(admitted(), true),
      threads: threads.streams ?? null,
    });
  }

  get requests(): number {
    return this.#requests.held;
  }

  get streams(): number {
    return this.#streams.held;
  }

  /** Half of the requests are in use, or were when another thread looked: these looks are `everyMs` apart. */
  areRequestsScarce(everyMs: number): boolean {
    return this.#requests.isUsedInPass(1 / 2, everyMs);
  }

  /** The limit that rejects another request; null: it is admitted. The address is computed only when it matters. */
  exceeded(hasBody: boolean, clientAddress: () => string): AdmissionLimit | null {
    if (this.#requests.isUsed(1)) return 'requests';
    if (this.#streams.isUsed(1)) return 'streams';
    if (hasBody && this.#requests.isUsed(PART_FOR_BODIES)) return 'bodies';
    if (!this.#requests.isScarce && !this.#streams.isScarce) return null;
    const address = clientAddress();
    if (this.#requests.isScarce && this.#requests.isShareUsed(address)) return 'address_requests';
    return this.#streams.isScarce && this.#streams.isShareUsed(address) ? 'address_streams' : null;
  }

  /** The exchange is already among the admitted. */
  begin({ clientAddress }: Admitted): void {
    this.#requests.enter(clientAddress);
  }

  /** The response of a request starts. */
  answer({ clientAddress }: Admitted): void {
    this.#requests.leave(clientAddress);
    this.#streams.enter(clientAddress);
  }

  end({ clientAddress, isAnswering }: Admitted): void {
    (isAnswering ? this.#streams : this.#requests).leave(clientAddress);
  }
}

function* addressesOf(admitted: Iterable<Admitted>, isAnswering: boolean): Iterable<string> {
  for (const one of admitted) if (one.isAnswering === isAnswering) yield one.clientAddress;
}
