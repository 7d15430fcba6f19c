import type { OtherNode, Welcome } from '../../tunnel/messages.ts';
import { ConnectionSlot, type SlotOwner, type SlotPlaces } from '../connection-slot.ts';
import type { GatewayAddress } from '../dial-gateway.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import type { AgentNode } from '../handle.ts';
import type { AgentTimings } from '../timings.ts';
import { type DialTarget, KnownNodes } from './known-nodes.ts';
import { NodeSpread } from './node-spread.ts';

export interface ConnectionSlotsParts {
  readonly owner: SlotOwner;
  /** From the agent's own configuration. */
  readonly address: GatewayAddress;
  readonly timings: AgentTimings;
  /** The nodes with a connection have changed. */
  onNodes(nodes: readonly AgentNode[]): void;
}

/** The agent's connections, kept on different nodes where there are several. */
export class ConnectionSlots implements SlotPlaces {
  readonly #parts: ConnectionSlotsParts;
  readonly #known: KnownNodes;
  readonly #spread: NodeSpread;
  readonly #slots: ConnectionSlot[] = [];
  /** Trials, and slots that have retired and whose last streams still run. */
  readonly #others = new Set<ConnectionSlot>();
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
    while (this.#slots.length < wanted) this.#slots.push(new ConnectionSlot(owner, this, timings));
    for (const slot of this.#slots.slice(0, wanted)) if (slot.isResting) slot.begin(0);
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
    this.#spread.stop();
    for (const slot of this.#all()) slot.rest();
  }

  closeAll(reason: string): void {
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
