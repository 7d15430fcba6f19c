import type { JsonObject } from '../kit/json.ts';

/** A row of `nodes`. Times are the database's own. */
export interface StoredNode {
  readonly id: string;
  readonly status: 'ready' | 'draining';
  readonly startedAtMs: number;
  readonly lastSeenAtMs: number;
  readonly leaseEndsAtMs: number;
  readonly doc: JsonObject;
}

export interface Heartbeat {
  /** The database's time during the transaction. */
  readonly nowMs: number;
  /** All nodes, also those whose lease ended less than ten minutes ago. */
  readonly nodes: readonly StoredNode[];
  /** The lease had ended before this renewal, or the row was absent: claims may belong to others by now. */
  readonly hadExpired: boolean;
  readonly position: FeedPosition;
}

/** How far the change feeds of records and of logins have come. */
export interface FeedPosition {
  readonly revision: number;
  readonly loginSeq: number;
}

/** A name, which has one owner on both listeners, or a port: `name app.example.com`, `port 20001`. */
export type ClaimKey = string;

export interface StoredClaim {
  readonly key: ClaimKey;
  readonly sessionId: string;
  readonly credentialId: string;
  readonly nodeId: string;
  /** Increases with every change of owner, over all claims and sessions. */
  readonly epoch: number;
}

export type ClaimOutcome =
  | { readonly ok: true; readonly epoch: number }
  /**
   * `leaseLeftMs`: claim again after this time. It is what is left of the lease of the holder's node, or of the time
   * that others have to renew theirs after this node's own lease began. Without a holder: the lease of the claiming
   * node itself has ended, so claim again after the next heartbeat.
   */
  | { readonly ok: false; readonly holder: StoredClaim | null; readonly leaseLeftMs: number };

/** A session of an agent: where its home is, and what another node needs to resume it. */
export interface StoredSession {
  readonly id: string;
  readonly nodeId: string;
  readonly credentialId: string;
  readonly epoch: number;
  /**
   * Hash of the resume secret, generation, start, and the ids, names and ports of its tunnels. No secrets of modules.
   */
  readonly doc: JsonObject;
}

export type MoveOutcome =
  | { readonly ok: true; readonly session: StoredSession }
  /**
   * `held`: its home's lease is valid, or a node that is alive may still renew it (`leaseLeftMs`). `moved`: another
   * epoch. `absent`: it has ended.
   */
  | { readonly ok: false; readonly reason: 'held' | 'moved' | 'absent'; readonly leaseLeftMs: number };

/** Membership and what nodes own. Live state: no revision, no change feed. */
export interface NodeStore {
  /** Writes this node's row and extends its lease from the database's now. */
  heartbeat(node: Pick<StoredNode, 'id' | 'status' | 'startedAtMs' | 'doc'>, leaseMs: number): Promise<Heartbeat>;
  /** Extends the lease of a peer that cannot reach the database, if it has not expired. */
  renewFor(nodeId: string, leaseMs: number): Promise<Heartbeat>;
  /** Ends the lease, and with it every claim and session of the node. */
  leave(nodeId: string): Promise<void>;
  /** Without a write, for processes that are no node. */
  list(): Promise<Pick<Heartbeat, 'nowMs' | 'nodes'>>;
  /**
   * What must be equal on all nodes, called after the first heartbeat: the node is listed from then on. The first node
   * decides, also after all others are gone. Returns the values that differ, as the other nodes have them, by name;
   * then nothing is stored, and the node is not listed.
   */
  agree(nodeId: string, facts: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>;
  /**
   * Takes the key for the session if it is free, or if its holder is this session on this node, or if the lease of its
   * holder's node has ended and this node's own is at least as old as a lease is long. Refused without a holder if the
   * claiming node's own lease has ended.
   */
  claim(claim: Omit<StoredClaim, 'epoch'>): Promise<ClaimOutcome>;
  /** Keys that the session holds on another node by now are kept. */
  release(owner: Pick<StoredClaim, 'sessionId' | 'nodeId'>, keys: readonly ClaimKey[]): Promise<void>;
  /** Null: nobody holds it. Settles which of two announcements of a name is right. */
  getClaim(key: ClaimKey): Promise<StoredClaim | null>;
  claimsOf(nodeId: string): Promise<readonly StoredClaim[]>;
  /**
   * Creates or updates the session of this node. Null: it has another home by now. With the epoch that this node knows
   * it only updates: also null when the session has ended, or has another epoch.
   */
  putSession(session: Omit<StoredSession, 'epoch'>, knownEpoch?: number): Promise<{ readonly epoch: number } | null>;
  getSession(id: string): Promise<StoredSession | null>;
  /**
   * Makes `toNodeId` the home of the session and of its claims, in one step. Allowed when the old home's lease has
   * ended, or when the old home hands it over (`handedOverBy` is its id).
   */
  moveSession(id: string, fromEpoch: number, toNodeId: string, handedOverBy?: string): Promise<MoveOutcome>;
  /** With its claims; ignored when it has another home by now. */
  removeSession(id: string, nodeId: string): Promise<void>;
  sessionsOf(nodeId: string): Promise<readonly StoredSession[]>;
}
