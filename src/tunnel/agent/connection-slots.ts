import type { OtherNode, Welcome } from '../protocol/messages.ts';
import { MAX_BUSY_CONNECTIONS } from '../protocol/protocol.ts';
import { ConnectionSlot, type SlotOwner, type SlotPlaces } from './connection-slot.ts';
import type { GatewayAddress } from './dial-gateway.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import type { AgentNode } from './handle.ts';
import { type DialTarget, KnownNodes } from './known-nodes.ts';
import type { AgentTimings } from './timings.ts';

interface NodeSpreadParts {
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
 * *trial* connection. If that is on a free node, it takes the place of one of the two; otherwise it retires, and the
 * next trial follows after a longer delay. Existing connections stay until then.
 */
class NodeSpread {
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

interface ConnectionSlotsParts {
  readonly owner: SlotOwner;
  /** From the agent's own configuration. */
  readonly address: GatewayAddress;
  readonly timings: AgentTimings;
  /** Undefined: as many as are needed. */
  readonly maxConnections: number | undefined;
  /** The nodes with a connection have changed. */
  onNodes(nodes: readonly AgentNode[]): void;
}

/** From this part of their streams in use on, connections are busy. */
export const BUSY_PART = 3 / 4;
/** With one connection less, this part may be in use at most. */
const QUIET_PART = 1 / 2;

/**
 * The agent's connections, kept on different nodes where there are several. While they are busy there are more of them
 * than the server wants, one at a time, and fewer again later.
 */
export class ConnectionSlots implements SlotPlaces {
  readonly #parts: ConnectionSlotsParts;
  readonly #known: KnownNodes;
  readonly #spread: NodeSpread;
  readonly #slots: ConnectionSlot[] = [];
  /** Trials, and slots that have retired and whose last streams still run. */
  readonly #others = new Set<ConnectionSlot>();
  #wanted = 0;
  #shrinkTimer: NodeJS.Timeout | null = null;
  /** Whether the last look found that one connection less would do. */
  #isQuiet = false;
  #told = '';

  constructor(parts: ConnectionSlotsParts) {
    this.#parts = parts;
    this.#known = new KnownNodes(parts.address, parts.timings.connectTimeoutMs);
    this.#spread = new NodeSpread({
      known: this.#known,
      delayMs: parts.timings.moveDelayMs,
      online: () => this.#online(),
      open: () => this.#openTrial(),
      replace: (old, trial) => this.#replace(old, trial),
      drop: (trial) => trial.retire(),
    });
  }

  /** A connection for control messages. */
  get online(): GatewayConnection | null {
    return this.#online()[0]?.online ?? null;
  }

  /** Nodes that have a connection. */
  get nodes(): readonly AgentNode[] {
    const byId = new Map(this.#online().flatMap(({ node }) => (node === null ? [] : [[node.id, node] as const])));
    return [...byId.values()];
  }

  /** Time until the next attempt; null when none is planned. */
  get nextTryMs(): number | null {
    const tries = this.#slots.flatMap((slot) => slot.nextTryMs ?? []);
    return tries.length === 0 ? null : Math.min(...tries);
  }

  fill(wanted: number): void {
    const { owner, timings } = this.#parts;
    this.#wanted = wanted;
    // Further ones of a session that was lost.
    this.#dropAfter(wanted, ({ isResting }) => isResting);
    if (this.#slots.length > wanted) this.#awaitQuiet();
    while (this.#slots.length < wanted) this.#slots.push(new ConnectionSlot(owner, this, timings));
    for (const slot of this.#slots.slice(0, wanted)) if (slot.isResting) slot.begin(0);
  }

  /** For a server that has no stream left for a visitor, more connections are the only way to get further ones. */
  growIfBusy(): void {
    const { owner, timings, maxConnections = MAX_BUSY_CONNECTIONS } = this.#parts;
    const online = this.#online();
    const isAwaited = online.length < this.#slots.length;
    const most = Math.min(maxConnections, MAX_BUSY_CONNECTIONS);
    if (isAwaited || this.#slots.length + this.#others.size >= most || usedPart(online, 0) < BUSY_PART) return;
    this.#isQuiet = false;
    const slot = new ConnectionSlot(owner, this, timings);
    this.#slots.push(slot);
    slot.begin(0);
    this.#awaitQuiet();
  }

  #awaitQuiet(): void {
    this.#shrinkTimer ??= setInterval(() => this.#shrinkIfQuiet(), this.#parts.timings.shrinkAfterMs).unref();
  }

  #dropAfter(count: number, isDropped: (slot: ConnectionSlot) => boolean): void {
    for (const slot of this.#slots.slice(count).filter(isDropped)) {
      this.#slots.splice(this.#slots.indexOf(slot), 1);
      slot.retire();
      if (!slot.isEmpty) this.#others.add(slot);
    }
  }

  /** After two looks, so that a short pause closes none. */
  #shrinkIfQuiet(): void {
    const wasQuiet = this.#isQuiet;
    const isMore = this.#slots.length > this.#wanted;
    this.#isQuiet = isMore && usedPart(this.#online(), 1) <= QUIET_PART;
    if (!isMore) this.#stopShrinking();
    if (!this.#isQuiet || !wasQuiet) return;
    this.#dropAfter(this.#slots.length - 1, () => true);
    this.#changed();
  }

  #stopShrinking(): void {
    if (this.#shrinkTimer !== null) clearInterval(this.#shrinkTimer);
    this.#shrinkTimer = null;
  }

  targetFor(slot: ConnectionSlot): DialTarget {
    const others = this.#online().filter((other) => other !== slot);
    return this.#known.target(new Set(others.flatMap(({ node }) => node?.id ?? [])));
  }

  onWelcome(slot: ConnectionSlot, { nodes }: Welcome): void {
    this.#learn(slot, nodes);
    if (slot.isTrial) this.#spread.onWelcome(slot);
    this.#changed();
  }

  /** A message of the server replaces its list. */
  onNodes(slot: ConnectionSlot, nodes: readonly OtherNode[]): void {
    this.#learn(slot, nodes);
    this.#changed();
  }

  onLost(slot: ConnectionSlot): void {
    if (this.#slots.includes(slot)) {
      if (slot.node !== null && slot.online === null) this.#known.avoid(slot.node.id);
    } else if (slot.isEmpty) this.#others.delete(slot);
    this.#changed();
  }

  startOver(): void {
    this.#slots[0]?.startOver();
  }

  rest(): void {
    this.#stopShrinking();
    this.#spread.stop();
    for (const slot of this.#all()) slot.rest();
  }

  closeAll(reason: string): void {
    this.#stopShrinking();
    this.#spread.stop();
    for (const slot of this.#all()) slot.closeAll(reason);
    this.#others.clear();
  }

  #all(): readonly ConnectionSlot[] {
    return [...this.#slots, ...this.#others];
  }

  #online(): readonly ConnectionSlot[] {
    return this.#slots.filter(({ online }) => online !== null);
  }

  #learn({ node }: ConnectionSlot, others: readonly OtherNode[] | undefined): void {
    if (node !== null && others !== undefined && this.#known.learn(node, others)) this.#spread.allowTrials();
  }

  #openTrial(): ConnectionSlot {
    const trial = new ConnectionSlot(this.#parts.owner, this, this.#parts.timings, true);
    this.#others.add(trial);
    trial.begin(0);
    return trial;
  }

  #replace(old: ConnectionSlot, trial: ConnectionSlot): void {
    this.#others.delete(trial);
    trial.keep();
    this.#slots[this.#slots.indexOf(old)] = trial;
    this.#others.add(old);
    old.retire();
  }

  #changed(): void {
    this.#spread.review();
    const { nodes } = this;
    const text = JSON.stringify(nodes);
    // Where there is one server only, its name says nothing.
    if (text === this.#told || (this.#known.size < 2 && this.#told === '')) return;
    this.#told = text;
    this.#parts.onNodes(nodes);
  }
}

/** Which part of the streams of these connections is in use, or would be with `less` of them. */
function usedPart(slots: readonly ConnectionSlot[], less: number): number {
  let active = 0;
  let streams = 0;
  for (const { online } of slots) {
    active += online?.active ?? 0;
    streams += online?.maxStreams ?? 0;
  }
  return active / (streams * (1 - less / slots.length));
}
