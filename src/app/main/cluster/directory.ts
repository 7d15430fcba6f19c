import type { Logger } from 'pino';
import type { OnlinePort } from '../../../control/resources/ports.ts';
import { until } from '../../../kit/async/waiting.ts';
import type { Clock } from '../../../kit/clock.ts';
import { LatePart } from '../../../kit/late-part.ts';
import { type EndpointPublisher, SharedEndpoints } from '../../../proxy/edge/tunnels/endpoints.ts';
import type { OnlineTunnels } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import type { NodeStore } from '../../../store/node-store.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { Store } from '../../../store/store.ts';
import { LoggedRefusals } from '../../../tunnel/nodes/directory/announced.ts';
import { DirectoryEndpoints } from '../../../tunnel/nodes/directory/directory-endpoints.ts';
import { followNodes } from '../../../tunnel/nodes/directory/followed-nodes.ts';
import { NodeAnnouncer } from '../../../tunnel/nodes/directory/node-announcer.ts';
import { OnlineListing } from '../../../tunnel/nodes/directory/online-listing.ts';
import { storedRights } from '../../../tunnel/nodes/directory/rights.ts';
import { AllTunnels, TunnelDirectory } from '../../../tunnel/nodes/directory/tunnel-directory.ts';
import type { PeerLinks } from '../../../tunnel/nodes/links/peer-links.ts';
import type { Membership } from '../../../tunnel/nodes/membership/membership.ts';

interface DirectoryDependencies {
  readonly membership: Pick<Membership, 'self' | 'nodes' | 'mayServe' | 'setProblem'>;
  /** Null: this process knows only its own agents. */
  readonly links: Pick<PeerLinks, 'get' | 'onDown' | 'serveFeed' | 'followFeeds'> | null;
  /** Tunnels of agents that are connected to this process. */
  readonly local: OnlineTunnels;
  readonly nodes: Pick<NodeStore, 'getSession' | 'getClaim'>;
  readonly replica: Pick<RecordReader, 'get'>;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface OpenedDirectory {
  readonly directory: TunnelDirectory;
  readonly announcer: NodeAnnouncer;
  /** For traffic. */
  readonly tunnels: OnlineTunnels;
  /** For the API. */
  readonly online: OnlinePort;
  /** Credential of the agent that publishes an address on any node; null: it is not online. */
  credentialOf(endpointId: string): string | null;
  /** Resolves once visitors of this node reach the agents of all others, or when one of those does not answer. */
  known(): Promise<void>;
  /** Publishes the endpoints of other nodes; returns the publisher for agents of this one. */
  publishOn(endpoints: EndpointPublisher): EndpointPublisher;
  close(): void;
}

/** A node that died just now is ready until its lease ends, after 1.5 s. */
const KNOWN_WITHIN_MS = 3_000;

/** The directory of tunnels over all nodes, and everything that reads it. */
export function openDirectory(deps: DirectoryDependencies): OpenedDirectory {
  const { membership, links, local, logger } = deps;
  const log = new LoggedRefusals(logger);
  const directory = new TunnelDirectory({
    ownNodeId: membership.self.id,
    local,
    links: links ?? { get: () => undefined },
    log,
    ...(links !== null && { rights: storedRights(deps.nodes) }),
  });
  const announcer = new NodeAnnouncer(directory);
  const listing = new OnlineListing((id) => deps.replica.get('credential', id) !== undefined);
  directory.follow(listing);
  if (links !== null) announcer.serve(links);
  const isKnown = links === null ? () => true : followNodes(links, directory, log);
  const areAllKnown = (): boolean =>
    membership.nodes().every(({ id, status, peerAddress }) => {
      return id === membership.self.id || status !== 'ready' || peerAddress === null || isKnown(id);
    });
  // A process without an edge publishes none.
  const published = new LatePart<DirectoryEndpoints>('the endpoints of other nodes');
  return {
    directory,
    announcer,
    // A node without its lease has just woken, perhaps: what it knows about the others is as old as the lease.
    tunnels: links === null ? local : new AllTunnels(local, directory, () => !membership.mayServe() || !areAllKnown()),
    online: {
      get: (kind, id) => Promise.resolve(listing.get(kind, id)),
      list: (kind, query) => Promise.resolve(listing.list(kind, query)),
    },
    credentialOf: (endpointId) => listing.get('endpoint', endpointId)?.credentialId ?? null,
    known: async () => {
      const isAllKnown = (): boolean => areAllKnown() && published.ifOpen?.isSettled !== false;
      await until(isAllKnown, KNOWN_WITHIN_MS);
    },
    publishOn: (endpoints) => {
      const shared = new SharedEndpoints(endpoints);
      const ofNodes = new DirectoryEndpoints({ publisher: shared.as('directory'), membership, log: logger });
      published.open(ofNodes);
      directory.follow(ofNodes);
      return ofNodes.yielding(shared.as('agent'));
    },
    close: () => {
      published.ifOpen?.close();
      directory.close();
    },
  };
}

/** What is online according to the leases of all processes, for one that other processes do not tell. */
export function onlineInStore({ presence }: Pick<Store, 'presence'>, clock: Clock): OnlinePort {
  return {
    get: (kind, id) => presence.get(kind, id, clock.nowMs()),
    list: (kind, query) => presence.list(kind, { ...query, nowMs: clock.nowMs() }),
  };
}
