import type { Announcement, Claim } from './announcement.ts';
import type { DirectoryTunnel } from './directory-tunnel.ts';
import { NONE_RIGHT, type RightClaims } from './right-claims.ts';

/** A session that at least one node announces, with the claims of all nodes about the session. */
export class DirectorySession {
  readonly id: string;
  readonly claims: Claim[] = [];
  readonly tunnels = new Map<string, DirectoryTunnel>();
  right: RightClaims = NONE_RIGHT;
  /** The store's decisions, only for a session that nodes contradict each other about. */
  verdicts: Map<string, boolean> | null = null;

  constructor(id: string) {
    this.id = id;
  }

  /** The claim of the session's home. */
  get home(): Claim | null {
    const [first] = this.right.counted;
    return first !== undefined && first.by.nodeId === first.session.homeNodeId ? first : null;
  }

  claimBy(by: Announcement): Claim | undefined {
    return this.claims.find((claim) => claim.by === by);
  }

  remove(claim: Claim): void {
    const at = this.claims.indexOf(claim);
    if (at !== -1) this.claims.splice(at, 1);
  }
}
