import type { JsonObject } from '../../lib/json.ts';
import type { EndpointModules } from '../../tunnel/messages.ts';

/**
 * A node announces the sessions and tunnels that it can reach over a connection of its own. Two nodes with connections
 * of the same session both announce it, with the same home and epoch; the highest epoch is right.
 */
export interface AnnouncedSession {
  readonly id: string;
  readonly credentialId: string;
  /** The node that decides about the session, and that gets its control messages. */
  readonly homeNodeId: string;
  readonly epoch: number;
  /** Set by the home: the other nodes with a connection of the agent. A node that is not listed is no holder. */
  readonly holders?: readonly string[];
  /** The document that `GET /tunnel_sessions` shows. */
  readonly doc: JsonObject;
}

export interface AnnouncedTunnel {
  readonly id: string;
  readonly sessionId: string;
  readonly epoch: number;
  /** The document that `GET /tunnels` shows. */
  readonly doc: JsonObject;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly forwardsTo: string;
  /** For a tunnel with a public address, published on every node. */
  readonly endpoint: AnnouncedEndpoint | null;
}

export interface AnnouncedEndpoint {
  readonly id: string;
  readonly proto: 'http' | 'https' | 'tcp' | 'tls';
  readonly host: string | null;
  readonly port: number | null;
  /** May contain secrets: modules travel over peer links only and are never logged. */
  readonly modules: EndpointModules;
  /** The document that `GET /endpoints` shows. */
  readonly doc: JsonObject;
}

/** The gateway announces what this node reaches. Calls are cheap; followers get the changes in order. */
export interface Announcer {
  putSession(session: AnnouncedSession): void;
  removeSession(id: string): void;
  putTunnel(tunnel: AnnouncedTunnel): void;
  removeTunnel(id: string): void;
}

/** The announcements of linked nodes. */
export interface RemoteDirectory {
  /** Null unless a linked node announces the session. `holders` are node ids, the home first. */
  session(id: string): { readonly session: AnnouncedSession; readonly holders: readonly string[] } | null;
  sessions(): Iterable<AnnouncedSession>;
  tunnelsOf(sessionId: string): readonly AnnouncedTunnel[];
  /** The session that has this name on another node: `tls app.example.com`. */
  nameHolder(key: string): { readonly sessionId: string; readonly nodeId: string } | null;
  /** The home no longer announces a session. The home may still be alive. */
  onHomeLost(listener: (session: AnnouncedSession, tunnels: readonly AnnouncedTunnel[]) => void): () => void;
}
