import type { AgentLink, OnlineTunnel } from '../../../src/proxy/edge/tunnels/online-tunnels.ts';
import { TunnelUse } from '../../../src/proxy/edge/tunnels/tunnel-use.ts';
import type { HopTracing } from '../../../src/proxy/tracing/request-trace.ts';
import { HopWebSockets, receiveChannelHops, receiveHops } from '../../../src/tunnel/nodes/hop/receive-hops.ts';
import type { PeerLink } from '../../../src/tunnel/nodes/links/peer-links.ts';
import { FakeAgent, FakeTunnels } from '../../edge/tunnels/fake-agent.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { BlackHole, type LinkedNode, LinkWorld } from '../support/link-world.ts';

export const TUNNEL = 'tn_1';

/** A node with an agent. */
export interface Holder {
  readonly node: LinkedNode;
  readonly agent: FakeAgent;
  readonly tunnels: FakeTunnels;
  /** Between the nodes. */
  readonly hole: BlackHole;
  /** Streams of other nodes that it has taken and that have not closed. */
  readonly open: { readonly streams: number };
  readonly webSockets: HopWebSockets;
}

/**
 * One node with clients, and holders of the same tunnel: each with an agent of its own, so that tests can tell them
 * apart.
 */
export class HopWorld {
  readonly links: LinkWorld;
  readonly client: LinkedNode;
  readonly holders: readonly Holder[];

  private constructor(links: LinkWorld, client: LinkedNode, holders: readonly Holder[]) {
    this.links = links;
    this.client = client;
    this.holders = holders;
  }

  static async open(
    test: Cleanup,
    holderCount: number,
    connections = 1,
    tracing: HopTracing | null = null,
  ): Promise<HopWorld> {
    const world = await LinkWorld.open(test);
    const client = await world.node();
    const holders: Holder[] = [];
    for (let at = 0; at < holderCount; at += 1) {
      const agent = await FakeAgent.open(test, `agent-${at}`, connections);
      const tunnels = new FakeTunnels();
      tunnels.add(TUNNEL, agent);
      let port = 0;
      const hole = await BlackHole.open(test, () => port);
      const open = { streams: 0 };
      const webSockets = new HopWebSockets();
      const receive = receiveHops(tunnels, webSockets, { tracing });
      const start = (links: LinkedNode['links']): void =>
        links.serveStreams(
          (stream, headers, raw, onClosed) => {
            const closed = (): void => {
              open.streams -= 1;
              onClosed();
            };
            const isTaken = receive(stream, headers, raw, closed);
            if (isTaken) open.streams += 1;
            return isTaken;
          },
          receiveChannelHops(tunnels, tracing),
        );
      const node = await world.node({ through: hole.address, start });
      port = node.port;
      holders.push({ node, agent, tunnels, hole, open, webSockets });
    }
    const opened = new HopWorld(world, client, holders);
    await eventually('all are linked', () => holders.every(({ node }) => opened.isLinkedTo(node)));
    return opened;
  }

  isLinkedTo(node: LinkedNode): boolean {
    return this.linkTo(node) !== undefined;
  }

  linkTo(node: LinkedNode): PeerLink | undefined {
    return this.client.links.get(node.id);
  }

  /** The tunnel as the directory of the client's node has it: all holders, in order. */
  tunnel(): OnlineTunnel {
    const link = (tried: readonly AgentLink[] = []): AgentLink | null => {
      for (const { node } of this.holders) {
        const found = this.linkTo(node);
        if (found?.hasRoom === true && !tried.includes(found)) return found;
      }
      return null;
    };
    return { id: TUNNEL, forwardsTo: 'http://localhost:3000', inFlight: 0, use: new TunnelUse(), link };
  }
}
