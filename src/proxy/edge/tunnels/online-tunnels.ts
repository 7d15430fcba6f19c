import type { ClientHttp2Stream } from 'node:http2';
import type { Shortage } from '../../../kit/net/shared-places.ts';
import type { TunnelFigures } from '../../telemetry/live/installation-tunnels.ts';
import type { RequestChannel } from '../../upstream/upstream.ts';
import type { TunnelUse } from './tunnel-use.ts';

/** Tunnels available to traffic: exactly those that are online. */
export interface OnlineTunnels {
  /** Increases when a tunnel comes or goes: cached selections from another generation are stale. */
  readonly generation: number;
  /** Tunnels with all of these labels. */
  matching(labels: Readonly<Record<string, string>>): readonly OnlineTunnel[];
  get(tunnelId: string): OnlineTunnel | undefined;
  /** This node is not linked with all others, which may announce further tunnels in a moment. */
  readonly isUnsettled?: boolean;
}

export interface OnlineTunnel {
  readonly id: string;
  /** Where the agent forwards to, as the agent reports it. */
  readonly forwardsTo: string;
  /** Requests and connections in progress, maintained by the sender. */
  inFlight: number;
  /** Requests and connections of all threads. Absent: there is one. */
  readonly inFlightInAll?: number;
  readonly use: TunnelUse;
  /**
   * The best way to the agent that takes a stream of the visitor, except those that were tried already; null when there
   * is none. Allocates nothing. Without a visitor no share counts.
   */
  link(tried?: readonly AgentLink[], visitor?: string): AgentLink | null;
  /** Why `link` has no way although the agent is connected. */
  shortage?(visitor: string | undefined): Shortage | null;
  /** The agent is connected, here or to another node, and only the right to serve its name is missing at the moment. */
  readonly isSuspended?: boolean;
  /** False: other nodes refuse its streams, and another visitor finds out whether they still do. */
  mayTry?(): boolean;
  /** Every node with a connection of its agent refused a stream. */
  refused?(): void;
}

/**
 * `node`: another node. `thread`: the main thread, which tries all ways to the agent itself. `holder`: for the main
 * thread, a worker that has the agent's connection.
 */
type Relay = 'node' | 'thread' | 'holder';

/** One connection to an agent. `postern-tunnel` routes a stream to one of the agent's tunnels. */
export interface AgentLink {
  /** Streams in progress. */
  readonly active: number;
  /** Whether it accepts further streams. */
  readonly hasRoom: boolean;
  /** Why it accepts no further stream of this visitor while it is open. Absent: only `hasRoom` counts. */
  shortage?(visitor: string | undefined): Shortage | null;
  /**
   * Who passes streams on to the agent, and may refuse them; undefined for a connection of the agent to this thread.
   */
  readonly relay?: Relay;
  /** Name of the node that passes a stream on to its agent; undefined for a connection of the agent to this node. */
  readonly nodeName?: string;
  request(
    headers: readonly string[],
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
    visitor?: string,
  ): ClientHttp2Stream;
  /** Ends a stream early, with CANCEL. */
  reset(stream: ClientHttp2Stream): void;
  /** This much more of a response waits for its client, or less. Absent: nobody counts it here. */
  held?(bytes: number): void;
  /** A stream has ended, for any reason. */
  release(stream: ClientHttp2Stream): void;
  /** For requests that switch no protocol. Absent: each is a stream. Null: it has just ended. */
  readonly channel?: RequestChannel | null;
  /** Opens no new streams on it. */
  retire(): void;
}

interface ListedTunnels {
  all(): Iterable<OnlineTunnel>;
  get(id: string): OnlineTunnel | undefined;
}

/**
 * A tunnel whose agent is connected here and elsewhere is in both lists, and is used through each. Null: it was listed
 * already. A reader may continue in a later turn, and finds a tunnel twice that went and came back meanwhile.
 */
export function* tunnelFigures(here: ListedTunnels, elsewhere: ListedTunnels): Generator<TunnelFigures | null> {
  for (const tunnel of here.all()) yield figuresOf(tunnel, elsewhere.get(tunnel.id));
  for (const tunnel of elsewhere.all()) yield here.get(tunnel.id) === undefined ? figuresOf(tunnel, undefined) : null;
}

function figuresOf({ id, inFlight, use }: OnlineTunnel, other: OnlineTunnel | undefined): TunnelFigures {
  return {
    id,
    requests: use.requests + (other?.use.requests ?? 0),
    bytesIn: use.bytesIn + (other?.use.bytesIn ?? 0),
    bytesOut: use.bytesOut + (other?.use.bytesOut ?? 0),
    inProgress: inFlight - use.hopsInFlight + (other === undefined ? 0 : other.inFlight - other.use.hopsInFlight),
  };
}
