import type { ConnectionSlot } from '../connection-slot.ts';
import type { KnownNodes } from './known-nodes.ts';

export interface NodeSpreadParts {
  readonly known: KnownNodes;
  readonly delayMs: number;
  /** Slots with a connection in use, which the agent replaces when it is lost. */
  online(): readonly ConnectionSlot[];
  /** Opens one more connection, which is a trial. */
  open(): ConnectionSlot;
  /** Puts the trial in the place of the other slot, whose connection retires. */
  replace(old: ConnectionSlot, trial: ConnectionSlot): void;
  drop(trial: ConnectionSlot): void;
}

/** If a balancer always chooses the same node, further trials are useless until the nodes change. */
const MOST_TRIALS = 8;
/** However often a server says that its nodes have changed. */
const TRIALS_PER_PERIOD = 20;
const PERIOD_MS = 600_000;

/**
 * Moves connections to nodes that have none. While two connections are on one node and another node is free, it opens a
 * *trial* connection. If that is on a free node, it takes the place of one of the two; otherwise it retires, and the next
 * trial follows after a longer delay. Existing connections stay until then.
 */
export class NodeSpread {
  readonly #parts: NodeSpreadParts;
  #timer: NodeJS.Timeout | null = null;
  #trial: ConnectionSlot | null = null;
  #trials = 0;
  /** When the latest ones began. */
  #triedAtMs: number[] = [];

  constructor(parts: NodeSpreadParts) {
    this.#parts = parts;
  }

  /** A connection, or the list of nodes, has changed. */
  review(): void {
    if (this.#trial?.isResting === true) this.#trial = null;
    if (this.#timer !== null || this.#trial !== null || !this.#mayTry() || this.#movable() === null) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        if (this.#movable() === null) return;
        this.#trials += 1;
        this.#triedAtMs.push(performance.now());
        this.#trial = this.#parts.open();
      },
      // A trial before that would end on a node that has a connection.
      Math.max(this.#parts.known.pausedMs(this.#occupied()), Math.random() * this.#parts.delayMs * 2 ** this.#trials),
    ).unref();
  }

  /** Nodes have come or gone. */
  allowTrials(): void {
    this.#trials = 0;
  }

  /** The trial connection was welcomed. */
  onWelcome(trial: ConnectionSlot): void {
    if (this.#trial === trial) this.#trial = null;
    const movable = this.#movable();
    const isFree = trial.node !== null && !this.#occupied().has(trial.node.id);
    if (movable !== null && isFree) {
      this.#trials = 0;
      this.#parts.replace(movable, trial);
    } else this.#parts.drop(trial);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#trials = 0;
  }

  #mayTry(): boolean {
    const sinceMs = performance.now() - PERIOD_MS;
    this.#triedAtMs = this.#triedAtMs.filter((atMs) => atMs > sinceMs);
    return this.#trials < MOST_TRIALS && this.#triedAtMs.length < TRIALS_PER_PERIOD;
  }

  /** A slot on a node that has another one, if there is a node without any. */
  #movable(): ConnectionSlot | null {
    if (!this.#parts.known.hasOther(this.#occupied())) return null;
    const seen = new Set<string>();
    for (const slot of this.#parts.online()) {
      const id = slot.node?.id;
      if (id === undefined) continue;
      if (seen.has(id)) return slot;
      seen.add(id);
    }
    return null;
  }

  #occupied(): ReadonlySet<string> {
    return new Set(this.#parts.online().flatMap(({ node }) => node?.id ?? []));
  }
}
