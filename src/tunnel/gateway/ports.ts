import type { Clock } from '../../kit/clock.ts';
import type { EndpointPublisher } from '../../proxy/edge/tunnels/endpoints.ts';
import type { NodeStore } from '../../store/node-store.ts';
import type { PresenceStore } from '../../store/store.ts';
import type { Announcer, RemoteDirectory } from '../nodes/directory/announced.ts';
import type { PeerLinks } from '../nodes/links/peer-links.ts';
import type { Membership } from '../nodes/membership/membership.ts';
import type { EndpointModules } from '../protocol/messages.ts';
import type { OnlineTunnelTable } from './online-tunnel-table.ts';

export interface GatewayPorts {
  readonly clock: Clock;
  readonly presence: PresenceStore;
  readonly bootId: string;
  readonly region: string;
  /** Who may enter an endpoint with these modules, as short texts without secrets. Absent: not said. */
  readonly entryRules?: ((modules: EndpointModules) => readonly string[]) | undefined;
  /** Base domain of generated names. */
  readonly domain: string;
  /** No tunnel has this host or one below it. */
  readonly identityHostname?: string | null;
  readonly credentials: Credentials;
  readonly invitations: Invitations;
  /** Filled by the gateway, read by the code that serves traffic. */
  readonly table: OnlineTunnelTable;
  readonly endpoints: EndpointPublisher;
  readonly log: GatewayLog;
  newId(prefix: string): string;
  /** Other nodes of the installation. Absent: there are none. */
  readonly cluster?: ClusterPorts | undefined;
  /** Tells other nodes. Absent: there are none. */
  readonly announcer?: Announcer | undefined;
  /** Threads that have the connections of agents. Absent: the gateway's own thread has them. */
  readonly workers?: GatewayWorkers | undefined;
  /** An agent connected, bound a tunnel or left: for events. */
  readonly events: GatewayEvents;
}

export interface GatewayWorkers {
  readonly count: number;
  /** Resolves when all of them have heard of everything that has happened so far. */
  settled(): Promise<void>;
}

interface GatewayLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Credentials {
  find(token: string): { readonly id: string; readonly acl: readonly string[] } | null;
  get(id: string): { readonly acl: readonly string[] } | null;
  /** Reads what other processes have changed. Rejects without the database. */
  refresh(): Promise<void>;
  /** False: for some seconds it has been unknown here what other nodes deleted. */
  isCurrent(): boolean;
  /** A credential was changed or deleted. */
  onChange(listener: (credentialId: string) => void): () => void;
}

export interface RedeemRequest {
  readonly secret: string;
  readonly token: string;
  /** Host name of the agent's machine, as the agent says. */
  readonly name: string;
  readonly address: string;
}

/** The credential of the agent. */
export interface Redeemed {
  readonly id: string;
  readonly acl: readonly string[];
}

export interface Invitations {
  /**
   * Spends the invitation with this secret, and creates a credential with the token, in one commit. Null: it expired,
   * was used or revoked, or never existed. `waiting`: it belongs to a change that may be reverted. Rejects without the
   * database.
   */
  redeem(request: RedeemRequest): Promise<Redeemed | 'waiting' | null>;
}

export interface GatewayEvents {
  sessionStarted(sessionId: string): void;
  sessionStopped(sessionId: string): void;
  tunnelStarted(tunnelId: string): void;
  tunnelStopped(tunnelId: string): void;
  /** Another node has reported the start, and this one will report the end. */
  sessionTaken(sessionId: string, tunnelIds: readonly string[]): void;
  /** Another node will report the end. */
  sessionGiven(sessionId: string, tunnelIds: readonly string[]): void;
}

export interface GatewayCounts {
  readonly connections: number;
  /** Connections that have not identified themselves. */
  readonly unknown: number;
  readonly sessions: number;
  readonly tunnels: number;
}

/** The other nodes of the installation, for a gateway that shares sessions and names with them. */
export interface ClusterPorts {
  readonly membership: Pick<
    Membership,
    'self' | 'nodes' | 'get' | 'mayServe' | 'rightLeftMs' | 'nowMs' | 'onChange' | 'onLeaseExpired'
  >;
  readonly links: Pick<PeerLinks, 'get' | 'all' | 'call' | 'relay' | 'serve' | 'onDown'>;
  readonly directory: Pick<RemoteDirectory, 'session' | 'sessions' | 'tunnelsOf' | 'nameHolder'>;
  readonly store: NodeStore;
}
