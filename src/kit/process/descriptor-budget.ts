import { readdirSync, readFileSync, statSync } from 'node:fs';

/** What a descriptor is for: a client of the edge, a connection of an agent, or one to an upstream. */
export type DescriptorUse = 'visitor' | 'agent' | 'upstream';

interface DescriptorBudgetOptions {
  /** The limit of this process. Infinity: it is not known, and everything is admitted. */
  readonly limit: number;
  /** Open descriptors of this process. Infinity: there are too many to count them. Not called without a limit. */
  count(): number;
  nowMs(): number;
  /** Other threads open descriptors too, so each admission counts again, as often as it may. */
  readonly isOneOfSeveral?: boolean;
  onRefused(use: DescriptorUse): void;
  onChange(isScarce: boolean): void;
}

const MIN_RESERVE = 16;
const MAX_RESERVE = 256;
const RESERVE_DIVISOR = 16;
const SHARE_DIVISOR = 4;
/** Counting may take this share of the time: before Linux 6.2 its cost grows with the number of descriptors. */
const MAX_SHARE_OF_TIME = 0.05;
const MIN_PAUSE_MS = 20;
/** Longer than alerts need to see it. */
const CALM_MS = 10_000;

/**
 * Keeps file descriptors for the API, health checks and the store, because a process without any can accept no
 * connection at all. Visitors may use all but two reserves, agents and connections to upstreams all but one: so idle
 * visitors cannot stop requests in progress, and none of them stops the API.
 *
 * Plenty → scarce, when one was refused or the next visitor would be → plenty, when there has been room for all for a
 * while.
 */
export class DescriptorBudget {
  readonly limit: number;
  readonly reserve: number;
  /** The most that a listener may use which does not ask: the API's. */
  readonly share: number;
  readonly #options: DescriptorBudgetOptions;
  readonly #ceilings: Readonly<Record<DescriptorUse, number>>;
  readonly #recountAfter: number;
  #counted = 0;
  /** Admitted since they were counted. */
  #admitted = 0;
  #countAgainAtMs = Number.NEGATIVE_INFINITY;
  #scarceUntilMs = Number.NEGATIVE_INFINITY;
  #isScarce = false;

  constructor(options: DescriptorBudgetOptions) {
    const { limit } = options;
    this.#options = options;
    this.limit = limit;
    this.reserve = Math.min(MAX_RESERVE, Math.max(MIN_RESERVE, Math.floor(limit / RESERVE_DIVISOR)));
    this.share = Math.floor(limit / SHARE_DIVISOR);
    this.#recountAfter = options.isOneOfSeveral === true ? 0 : this.reserve / 2;
    const served = limit - this.reserve;
    this.#ceilings = { visitor: served - this.reserve, agent: served, upstream: served };
    this.#count();
  }

  /** As of the last count. */
  get open(): number {
    return this.#counted + this.#admitted;
  }

  get isScarce(): boolean {
    return this.#isScarce;
  }

  /** How many may be opened for a use. */
  free(use: DescriptorUse): number {
    const ceiling = this.#ceilings[use];
    // An address gets less than it may only if the last count was high, and many may have been closed since.
    if (this.open >= ceiling / 2) this.#count();
    return Math.max(0, ceiling - this.open);
  }

  /** Whether one more may be opened, or kept that was just accepted. */
  admits(use: DescriptorUse): boolean {
    const ceiling = this.#ceilings[use];
    // Many may have been closed since the last count, or opened for other uses.
    if (this.open >= ceiling || this.#admitted >= this.#recountAfter) this.#count();
    if (this.open >= ceiling) {
      this.#options.onRefused(use);
      this.#becomeScarce();
      return false;
    }
    this.#admitted += 1;
    return true;
  }

  /** To be called every second or so. */
  check(): void {
    this.#count();
    if (this.open >= this.#ceilings.visitor) this.#becomeScarce();
    else if (this.#isScarce && this.#options.nowMs() >= this.#scarceUntilMs) {
      this.#isScarce = false;
      this.#options.onChange(false);
    }
  }

  #becomeScarce(): void {
    this.#scarceUntilMs = this.#options.nowMs() + CALM_MS;
    if (this.#isScarce) return;
    this.#isScarce = true;
    this.#options.onChange(true);
  }

  #count(): void {
    if (this.limit === Number.POSITIVE_INFINITY) return;
    const startedAtMs = this.#options.nowMs();
    if (startedAtMs < this.#countAgainAtMs) return;
    this.#counted = Math.min(this.limit, this.#options.count());
    this.#admitted = 0;
    const endedAtMs = this.#options.nowMs();
    this.#countAgainAtMs = endedAtMs + Math.max(MIN_PAUSE_MS, (endedAtMs - startedAtMs) / MAX_SHARE_OF_TIME);
  }
}

const FOLDER = '/proc/self/fd';

/** The limit of open file descriptors of this process. Infinity: there is none, or this system does not tell. */
export function descriptorLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    // Without a count, a limit is of no use.
    return soft === undefined || openDescriptors() === 0 ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Open file descriptors of this process. Infinity: none is left to count them. */
export function openDescriptors(): number {
  // Linux 6.2 and later: the number itself, at a constant cost, and without a descriptor for the folder.
  const { size } = statSync(FOLDER);
  if (size > 0) return size;
  try {
    return readdirSync(FOLDER).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
