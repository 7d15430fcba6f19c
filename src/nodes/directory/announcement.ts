import type { AnnouncedSession, AnnouncedTunnel } from './announced.ts';

/** What a node says about one session: that it can reach the agent, and which tunnels it has. */
export interface Claim {
  readonly by: Announcement;
  session: AnnouncedSession;
  readonly tunnels: Map<string, AnnouncedTunnel>;
}

/**
 * What one node announces, from the first line of a feed to its end. A node that opens its feed again makes a new one,
 * which replaces the old one once it is complete.
 */
export class Announcement {
  readonly nodeId: string;
  /** This node's own. */
  readonly isOwn: boolean;
  readonly claims = new Map<string, Claim>();
  tunnelCount = 0;
  /** False: its link is lost, or a newer one has replaced it. It counts no longer, even where it is still indexed. */
  isUp = true;

  constructor(nodeId: string, isOwn = false) {
    this.nodeId = nodeId;
    this.isOwn = isOwn;
  }
}
