import {
  formatListenAddress,
  isWildcardHost,
  type ListenAddress,
  parseListenAddress,
} from '../../kit/net/listen-address.ts';
import type { OtherNode } from '../protocol/messages.ts';
import type { GatewayAddress } from './dial-gateway.ts';
import type { AgentNode } from './handle.ts';

/** An address for one attempt to connect. */
export interface DialTarget {
  readonly address: GatewayAddress;
  readonly timeoutMs: number;
  /** The server welcomed the connection. */
  reached(): void;
  failed(): void;
}

interface KnownNode extends AgentNode {
  /** Null: only a balancer leads there, or the server's text was not a usable address. */
  readonly address: ListenAddress | null;
}

interface Pause {
  readonly untilMs: number;
  readonly failures: number;
}

/** A firewall may drop packets to a node's own address, and the configured address waits for this long. */
const NAMED_TIMEOUT_MS = 5_000;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
/** Attempts at addresses that a server named, per minute: a broken server must not turn its agents into a flood. */
const NAMED_PER_MINUTE = 30;
const MINUTE_MS = 60_000;
const CONFIGURED = '';

/**
 * The nodes that the servers named, and which address to dial next. An address that failed is left out for a while. All
 * of them are verified like the configured one: a server cannot send its agents to a stranger.
 */
export class KnownNodes {
  readonly #configured: GatewayAddress;
  readonly #timeoutMs: number;
  #nodes = new Map<string, KnownNode>();
  /** By node id, or `CONFIGURED`. */
  readonly #pauses = new Map<string, Pause>();
  #namedAtMs: number[] = [];

  constructor(configured: GatewayAddress, timeoutMs: number) {
    this.#configured = configured;
    this.#timeoutMs = timeoutMs;
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Returns whether nodes have come or gone. */
  learn(sender: AgentNode, others: readonly OtherNode[]): boolean {
    const before = this.#nodes;
    this.#nodes = new Map(others.map(({ id, name, address }) => [id, { id, name, address: dialable(address) }]));
    this.#nodes.set(sender.id, { ...sender, address: before.get(sender.id)?.address ?? null });
    for (const id of this.#pauses.keys()) if (id !== CONFIGURED && !this.#nodes.has(id)) this.#pauses.delete(id);
    return before.size !== this.#nodes.size || this.#nodes.keys().some((id) => !before.has(id));
  }

  /** Whether a connection could move to a node that is not among these. */
  hasOther(occupied: ReadonlySet<string>): boolean {
    return this.#nodes.keys().some((id) => !occupied.has(id));
  }

  /**
   * How long to wait for a node that is not among these. Not for longer pauses: a balancer may lead where nodes' own
   * addresses do not.
   */
  pausedMs(occupied: ReadonlySet<string>): number {
    const free = [...this.#nodes.values()].filter(({ id, address }) => address !== null && !occupied.has(id));
    if (free.length === 0) return 0;
    const untilMs = Math.min(...free.map(({ id }) => this.#pauses.get(id)?.untilMs ?? 0));
    return Math.min(Math.max(0, untilMs - performance.now()), FIRST_PAUSE_MS);
  }

  /** The node drains or was lost: others come first for a while. */
  avoid(id: string): void {
    if (this.#nodes.has(id)) this.#pause(id);
  }

  /**
   * `occupied`: the nodes of the agent's other connections. A free node comes first, then the configured address, then
   * any node. Without another connection the configured address comes first: the list may be old.
   */
  target(occupied: ReadonlySet<string>): DialTarget {
    const named = shuffled([...this.#nodes.values()].filter(({ address }) => address !== null));
    const free = named.filter(({ id }) => !occupied.has(id)).map(({ id }) => id);
    const taken = named.filter(({ id }) => occupied.has(id)).map(({ id }) => id);
    const order = occupied.size === 0 ? [CONFIGURED, ...free] : [...free, CONFIGURED, ...taken];
    const usable = order.filter((id) => id === CONFIGURED || this.#mayDialNamed());
    return this.#targetOf(usable.find((id) => !this.#isPaused(id)) ?? this.#firstToReturn(usable));
  }

  #targetOf(id: string): DialTarget {
    const address = this.#nodes.get(id)?.address ?? null;
    const outcome = {
      reached: () => void this.#pauses.delete(id),
      failed: () => this.#pause(id),
    };
    if (address === null) return { address: this.#configured, timeoutMs: this.#timeoutMs, ...outcome };
    this.#namedAtMs.push(performance.now());
    return {
      address: { ...this.#configured, ...address, serverAddr: formatListenAddress(address) },
      timeoutMs: Math.min(NAMED_TIMEOUT_MS, this.#timeoutMs),
      ...outcome,
    };
  }

  #pause(id: string): void {
    const failures = (this.#pauses.get(id)?.failures ?? 0) + 1;
    const lengthMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10));
    this.#pauses.set(id, { untilMs: performance.now() + lengthMs, failures });
  }

  /** Everything has failed lately. */
  #firstToReturn(ids: readonly string[]): string {
    const untilMs = (id: string): number => this.#pauses.get(id)?.untilMs ?? 0;
    return ids.toSorted((a, b) => untilMs(a) - untilMs(b))[0] ?? CONFIGURED;
  }

  #isPaused(id: string): boolean {
    return (this.#pauses.get(id)?.untilMs ?? 0) > performance.now();
  }

  #mayDialNamed(): boolean {
    const sinceMs = performance.now() - MINUTE_MS;
    this.#namedAtMs = this.#namedAtMs.filter((atMs) => atMs > sinceMs);
    return this.#namedAtMs.length < NAMED_PER_MINUTE;
  }
}

function dialable(text: string | null): ListenAddress | null {
  const address = text === null ? null : parseListenAddress(text);
  return address === null || address.port === 0 || isWildcardHost(address.host) ? null : address;
}

/** Agents of a lost node must not all go to the first one in the list. */
function shuffled<Item>(items: Item[]): Item[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const at = Math.floor(Math.random() * (last + 1));
    [items[at], items[last]] = [items[last] as Item, items[at] as Item];
  }
  return items;
}
