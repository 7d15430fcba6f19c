import type { Socket } from 'node:net';
import { type Shortage, shortageOf, takes } from '../../../../kit/net/shared-places.ts';
import type { SharedTally } from '../../../../kit/process/shared-memory.ts';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from '../../../../proxy/edge/tunnels/online-tunnels.ts';
import { TunnelCircuitBreaker } from '../../../../proxy/edge/tunnels/tunnel-circuit-breaker.ts';
import { TunnelUse } from '../../../../proxy/edge/tunnels/tunnel-use.ts';
import { OutgoingLink } from '../../../../tunnel/nodes/links/outgoing-link.ts';
import { BETWEEN_THREADS } from '../../../../tunnel/nodes/links/peer-links.ts';
import { LabelIndex } from '../../../../tunnel/protocol/label-index.ts';
import type { ToldTunnel } from '../worker-protocol.ts';
import type { HeldAgents } from './held-agents.ts';

export interface WorkerTunnelsOptions {
  /** The main thread has to make another connection. */
  onBroken(): void;
  isUnsettled(): boolean;
  /** Whether this node may serve names of agents now. */
  mayServe(): boolean;
  /** Connections of agents that this worker has. Null: it has none yet. */
  agents(): Pick<HeldAgents, 'link' | 'shortage' | 'isHome'> | null;
  /** Counts what all workers send to a tunnel. */
  readonly streams: SharedTally;
}

/**
 * The tunnels that are online, in a worker. Streams go over a connection of the agent to this worker. If it has none,
 * the main thread passes them on like another node does.
 */
export class WorkerTunnels implements OnlineTunnels {
  readonly #byId = new Map<string, WorkerTunnel>();
  readonly #byLabel = new LabelIndex<WorkerTunnel>();
  readonly #options: WorkerTunnelsOptions;
  #link: AgentLink | null = null;
  #generation = 0;

  constructor(options: WorkerTunnelsOptions) {
    this.#options = options;
  }

  get isUnsettled(): boolean {
    return this.#options.isUnsettled();
  }

  get generation(): number {
    return this.#generation;
  }

  get(tunnelId: string): OnlineTunnel | undefined {
    return this.#byId.get(tunnelId);
  }

  matching(labels: Readonly<Record<string, string>>): readonly OnlineTunnel[] {
    return this.#byLabel.matching(labels);
  }

  all(): Iterable<OnlineTunnel> {
    return this.#byId.values();
  }

  /** The worker's end of a connection to the main thread. Resolves when requests can pass. */
  connect(socket: Socket): Promise<void> {
    const up = Promise.withResolvers<void>();
    let isUp = false;
    // A socket that was handed over does not read by itself, and HTTP/2 takes it as it is.
    socket.resume();
    const link = new OutgoingLink(
      socket,
      { id: 'main', name: 'main' },
      {
        onUp: () => {
          isUp = true;
          this.#link = agentLinkOf(link);
          up.resolve();
        },
        onDown: (_link, why) => {
          this.#link = null;
          if (isUp) this.#options.onBroken();
          else up.reject(new Error(why));
        },
      },
      BETWEEN_THREADS,
    );
    return up.promise;
  }

  /** Tunnels with a connection of their agent to this worker, for streams of the main thread. */
  readonly held: OnlineTunnels = {
    generation: 0,
    matching: () => [],
    get: (tunnelId) => this.#byId.get(tunnelId)?.held,
  };

  online(told: ToldTunnel): void {
    const { id, labels } = told;
    const known = this.#byId.get(id);
    if (known?.forwardsTo === told.forwardsTo && known.sessionId === told.sessionId) return;
    if (known !== undefined) this.offline(id);
    const isKnown = (): boolean => this.#byId.get(id) === tunnel;
    const tunnel: WorkerTunnel = new WorkerTunnel(told, labels === null ? null : this.#options.streams, {
      main: () => (isKnown() ? this.#link : null),
      own: (tried, visitor) =>
        isKnown() ? (this.#options.agents()?.link(told.sessionId, tried, visitor) ?? null) : null,
      shortage: (visitor) => this.#options.agents()?.shortage(told.sessionId, visitor) ?? null,
      // Only the home of a session knows without asking whether its names may be served.
      mayServe: () => this.#options.mayServe() && this.#options.agents()?.isHome(told.sessionId) === true,
    });
    this.#generation += 1;
    this.#byId.set(id, tunnel);
    if (labels !== null) this.#byLabel.add(tunnel, labels);
  }

  offline(id: string): void {
    const tunnel = this.#byId.get(id);
    if (tunnel === undefined) return;
    this.#generation += 1;
    this.#byId.delete(id);
    if (tunnel.labels !== null) this.#byLabel.remove(tunnel, tunnel.labels);
  }
}

/** Ways to the agent of a tunnel: null while there is none, and once the tunnel is offline. */
interface WorkerWays {
  main(): AgentLink | null;
  own(tried: readonly AgentLink[] | undefined, visitor: string | undefined): AgentLink | null;
  shortage(visitor: string | undefined): Shortage | null;
  mayServe(): boolean;
}

class WorkerTunnel implements OnlineTunnel {
  readonly id: string;
  readonly labels: ToldTunnel['labels'];
  readonly forwardsTo: string;
  readonly sessionId: string;
  /** As the main thread uses it, for visitors of other threads and nodes, who count their streams themselves. */
  readonly held: OnlineTunnel;
  readonly use = new TunnelUse();
  readonly #streams: SharedTally | null;
  readonly #ways: WorkerWays;
  readonly #breaker = new TunnelCircuitBreaker();
  #inFlight = 0;

  /** `streams`: null for one that is in no group. */
  constructor({ id, labels, forwardsTo, sessionId }: ToldTunnel, streams: SharedTally | null, ways: WorkerWays) {
    this.id = id;
    this.labels = labels;
    this.forwardsTo = forwardsTo;
    this.sessionId = sessionId;
    this.#streams = streams;
    this.#ways = ways;
    this.held = {
      ...{ id, forwardsTo, inFlight: 0, use: new TunnelUse() },
      link: (tried, visitor) => ways.own(tried, visitor),
      shortage: (visitor) => ways.shortage(visitor),
    };
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Always by one. */
  set inFlight(count: number) {
    if (count > this.#inFlight) this.#streams?.enter(this.id);
    else this.#streams?.leave(this.id);
    this.#inFlight = count;
  }

  get inFlightInAll(): number {
    return this.#streams?.of(this.id) ?? this.#inFlight;
  }

  /** The main thread knows the tunnel and refuses its streams: it may not serve it now. */
  get isSuspended(): boolean {
    return this.#breaker.isOpen && this.#ways.main() !== null;
  }

  mayTry(): boolean {
    return this.#breaker.mayTry();
  }

  refused(): void {
    this.#breaker.refused();
  }

  link(tried?: readonly AgentLink[], visitor?: string): AgentLink | null {
    // A name belongs to one agent in the whole installation; labels to all that have them.
    const own = this.labels === null && !this.#ways.mayServe() ? null : this.#ways.own(tried, visitor);
    if (own !== null) return own;
    const link = this.#ways.main();
    return link === null || !takes(link, visitor) || tried?.includes(link) === true ? null : link;
  }

  /** The main thread says with its refusal whether agents lack places. */
  shortage(visitor: string | undefined): Shortage | null {
    const link = this.#ways.main();
    return link === null ? null : shortageOf([link], visitor);
  }
}

/** The agent is connected to this node, although to another thread: no other node has a part in it. */
function agentLinkOf(link: OutgoingLink): AgentLink {
  return {
    relay: 'thread',
    get active() {
      return link.active;
    },
    get hasRoom() {
      return link.hasRoom;
    },
    get channel() {
      return link.channel;
    },
    shortage: (visitor) => link.shortage(visitor),
    request: (...args) => link.request(...args),
    reset: (stream) => link.reset(stream),
    release: (stream) => link.release(stream),
    retire: () => link.retire(),
  };
}
