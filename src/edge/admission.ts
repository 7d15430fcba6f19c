import { SharedBudget } from './shared-budget.ts';

/** How much one process takes on at once. 0: no limit. */
export interface AdmissionLimits {
  /** Requests whose answer has not begun. */
  readonly maxRequests: number;
  /** Answers under way, and WebSockets. */
  readonly maxStreams: number;
  /** How much of either one client address may hold once half of it is in use. 100: all. */
  readonly addressSharePercent: number;
  /** What clients have to send of a body while half of the requests are in use. 0: nothing. */
  readonly minBodyBytesPerSecond: number;
}

/** Which limit keeps a request out, as metrics name it. */
export type AdmissionLimit = 'requests' | 'streams' | 'bodies' | 'address_requests' | 'address_streams';

/** The setting behind each limit. */
export const SETTING_OF_LIMIT: Readonly<Record<AdmissionLimit, string>> = {
  requests: 'edge_requests_in_flight',
  streams: 'edge_streams_in_flight',
  bodies: 'edge_requests_in_flight',
  address_requests: 'edge_address_share',
  address_streams: 'edge_address_share',
};

/** What an exchange is to the admission. */
export interface Admitted {
  readonly clientAddress: string;
  readonly isAnswering: boolean;
}

/** Requests with a body leave the rest to those without: clients that send theirs slowly cannot hold everything. */
const PART_FOR_BODIES = 3 / 4;

/**
 * Bounds what one process works on, so that a flood costs those who flood and not the API, the agents' heartbeats and the
 * memory (50,000 requests at once took 993 MiB, and an API read 5 s). Requests and streams count apart: a thousand idle
 * WebSockets leave the requests their room. No client address can use up either for all others.
 */
export class Admission {
  readonly #requests: SharedBudget;
  readonly #streams: SharedBudget;

  /** `admitted`: all that has begun and not ended. */
  constructor(limits: AdmissionLimits, admitted: () => Iterable<Admitted>) {
    const { addressSharePercent: sharePercent } = limits;
    this.#requests = new SharedBudget({
      max: limits.maxRequests,
      sharePercent,
      holders: () => addressesOf(admitted(), false),
    });
    this.#streams = new SharedBudget({
      max: limits.maxStreams,
      sharePercent,
      holders: () => addressesOf(admitted(), true),
    });
  }

  get requests(): number {
    return this.#requests.held;
  }

  get streams(): number {
    return this.#streams.held;
  }

  /** Half of the requests are in use. */
  get areRequestsScarce(): boolean {
    return this.#requests.isUsed(1 / 2);
  }

  /** The limit that keeps another request out; null: it may come in. Its address is asked for only when it matters. */
  exceeded(hasBody: boolean, clientAddress: () => string): AdmissionLimit | null {
    if (this.#requests.isUsed(1)) return 'requests';
    if (this.#streams.isUsed(1)) return 'streams';
    if (hasBody && this.#requests.isUsed(PART_FOR_BODIES)) return 'bodies';
    if (!this.#requests.isScarce && !this.#streams.isScarce) return null;
    const address = clientAddress();
    if (this.#requests.isScarce && this.#requests.isShareUsed(address)) return 'address_requests';
    return this.#streams.isScarce && this.#streams.isShareUsed(address) ? 'address_streams' : null;
  }

  /** It is among the admitted by now. */
  begin({ clientAddress }: Admitted): void {
    this.#requests.enter(clientAddress);
  }

  /** The answer of a request begins. */
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
