import type { Socket } from 'node:net';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from '../../../edge/tunnels/online-tunnels.ts';
import { TunnelCircuitBreaker } from '../../../edge/tunnels/tunnel-circuit-breaker.ts';
import type { SharedTally } from '../../../lib/process/shared-tally.ts';
import { OutgoingLink } from '../../../nodes/links/outgoing-link.ts';
import { LabelIndex } from '../../../tunnel/label-index.ts';
import { TunnelUse } from '../../../tunnel/tunnel-use.ts';
import type { ToldTunnel } from '../worker-protocol.ts';

/** A busy main thread delays everything, and that is no reason to cut the streams to agents. */
const MAIN_SILENT_MS = 30_000;

export interface WorkerTunnelsOptions {
  /** The main thread has to make another connection. */
  onBroken(): void;
  isUnsettled(): boolean;
  /** Counts what all workers send to a tunnel. */
  readonly streams: SharedTally;
}

/**
 * The tunnels that are online, in a worker. The main thread has the connections of agents, and passes streams on like
 * another node does.
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
      MAIN_SILENT_MS,
    );
    return up.promise;
  }

  online({ id, labels, forwardsTo }: ToldTunnel): void {
    const known = this.#byId.get(id);
    if (known?.forwardsTo === forwardsTo) return;
    if (known !== undefined) this.offline(id);
    const tunnel = new WorkerTunnel({ id, labels, forwardsTo }, labels === null ? null : this.#options.streams, () =>
      this.#byId.get(id) === tunnel ? this.#link : null,
    );
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

class WorkerTunnel implements OnlineTunnel {
  readonly id: string;
  readonly labels: ToldTunnel['labels'];
  readonly forwardsTo: string;
  readonly use = new TunnelUse();
  readonly #streams: SharedTally | null;
  readonly #link: () => AgentLink | null;
  readonly #breaker = new TunnelCircuitBreaker();
  #inFlight = 0;

  /** `link`: null while there is none, and once the tunnel is offline. `streams`: null for one that is in no group. */
  constructor({ id, labels, forwardsTo }: ToldTunnel, streams: SharedTally | null, link: () => AgentLink | null) {
    this.id = id;
    this.labels = labels;
    this.forwardsTo = forwardsTo;
    this.#streams = streams;
    this.#link = link;
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
    return this.#breaker.isOpen && this.#link() !== null;
  }

  mayTry(): boolean {
    return this.#breaker.mayTry();
  }

  refused(): void {
    this.#breaker.refused();
  }

  link(tried?: readonly AgentLink[]): AgentLink | null {
    const link = this.#link();
    return link === null || !link.hasRoom || tried?.includes(link) === true ? null : link;
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
    request: (headers, options) => link.request(headers, options),
    reset: (stream) => link.reset(stream),
    release: () => link.release(),
    retire: () => link.retire(),
  };
}
