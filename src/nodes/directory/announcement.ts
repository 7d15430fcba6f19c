import type { AnnouncedSession, AnnouncedTunnel } from './announced.ts';

/** A node's statement about one session: the node can reach the agent, and the session has these tunnels. */
export interface Claim {
  readonly by: Announcement;
  session: AnnouncedSession;
  readonly tunnels: Map<string, AnnouncedTunnel>;
}

/**
 * Everything that one node announces in one feed. A feed that is opened again makes a new announcement, which replaces
 * the old announcement once the new one is complete.
 */
export class Announcement {
  readonly nodeId: string;
  /** Whether this is the announcement of this node itself. */
  readonly isOwn: boolean;
  readonly claims = new Map<string, Claim>();
  tunnelCount = 0;
  /** False: the link is lost, or a newer announcement counts. Its claims do not count, even if still indexed. */
  isUp = true;

  constructor(nodeId: string, isOwn = false) {
    this.nodeId = nodeId;
    this.isOwn = isOwn;
  }
}
