import type { FeedHandler, FollowedFeed, PeerLinks } from '../links/peer-links.ts';
import {
  Announcement,
  type DecodedLine,
  DIRECTORY_FEED,
  decodeLine,
  type FeedLine,
  MAX_ANNOUNCED_TUNNELS,
  type RefusalLog,
} from './announced.ts';
import type { TunnelDirectory } from './tunnel-directory.ts';

/** Follows the directory feed of every linked node. The result tells whether all announcements of a node are known. */
export function followNodes(
  links: Pick<PeerLinks, 'followFeeds' | 'onDown'>,
  directory: TunnelDirectory,
  log: RefusalLog,
): (nodeId: string) => boolean {
  const nodes = new Map<string, FollowedNode>();
  links.followFeeds(DIRECTORY_FEED, (nodeId, feed) => {
    const known = nodes.get(nodeId) ?? new FollowedNode(nodeId, directory, log);
    nodes.set(nodeId, known);
    return known.open(feed);
  });
  links.onDown(({ nodeId }) => {
    nodes.get(nodeId)?.lost();
    nodes.delete(nodeId);
  });
  return (nodeId) => nodes.get(nodeId)?.isComplete === true;
}

/** How long a node's announcements count after its feed has ended while its link is up. */
const STALE_MS = 5_000;

/** Announcements of another node. At most two count: the complete announcement, and a newer one that is incomplete. */
class FollowedNode {
  readonly #nodeId: string;
  readonly #directory: TunnelDirectory;
  readonly #log: RefusalLog;
  #complete: Announcement | null = null;
  #incomplete: Announcement | null = null;
  #staleTimer: NodeJS.Timeout | null = null;

  constructor(nodeId: string, directory: TunnelDirectory, log: RefusalLog) {
    this.#nodeId = nodeId;
    this.#directory = directory;
    this.#log = log;
  }

  /** Whether this node knows everything that the other node had when its feed began. */
  get isComplete(): boolean {
    return this.#complete !== null;
  }

  /** A new feed of the node. */
  open(feed: FollowedFeed): FeedHandler {
    let expected: number | null = null;
    let current: Announcement | null = null;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      if (current !== null) this.#ended(current);
    };
    return {
      onLine: (text) => {
        if (isOver || current?.isUp === false) return;
        const decoded = decodeLine(text);
        const problem = decoded.ok ? orderProblem(decoded, expected, this.#incomplete === current) : decoded.reason;
        if (problem !== null || !decoded.ok) {
          this.#refuse(feed, end, problem ?? '');
          return;
        }
        const seq = seqOf(decoded);
        if (seq !== undefined) expected = seq + 1;
        if ('ignored' in decoded) return;
        if (decoded.line.t === 'begin') {
          current = new Announcement(this.#nodeId);
          this.#begin(current);
        } else if (current !== null) {
          const wrong = this.#apply(current, decoded.line);
          if (wrong !== null) this.#refuse(feed, end, wrong);
        }
      },
      onEnd: end,
    };
  }

  /** The link is lost: no announcement of the node counts from now on. */
  lost(): void {
    this.#stopTimer();
    for (const each of [this.#incomplete, this.#complete]) if (each !== null) this.#directory.retire(each);
    this.#incomplete = null;
    this.#complete = null;
  }

  #begin(next: Announcement): void {
    if (this.#incomplete !== null) this.#directory.retire(this.#incomplete);
    this.#incomplete = next;
  }

  #apply(current: Announcement, line: Exclude<FeedLine, { t: 'begin' }>): string | null {
    switch (line.t) {
      case 'session':
        if (current.claims.size >= MAX_ANNOUNCED_TUNNELS && !current.claims.has(line.session.id)) return TOO_MANY;
        this.#directory.putSession(current, line.session);
        return null;
      case 'tunnel':
        if (!this.#directory.putTunnel(current, line.tunnel)) return 'a tunnel of a session that was not announced';
        return current.tunnelCount > MAX_ANNOUNCED_TUNNELS ? TOO_MANY : null;
      case 'no_session':
        this.#directory.removeSession(current, line.id);
        return null;
      case 'no_tunnel':
        this.#directory.removeTunnel(current, line.sessionId, line.id);
        return null;
      case 'end':
        this.#completed(current);
        return null;
    }
  }

  #completed(current: Announcement): void {
    this.#stopTimer();
    if (this.#complete !== null) this.#directory.retire(this.#complete);
    this.#complete = current;
    this.#incomplete = null;
  }

  #refuse(feed: FollowedFeed, end: () => void, reason: string): void {
    this.#log.refused(this.#nodeId, reason, {});
    end();
    feed.close();
  }

  /** The complete announcement counts until the next feed is complete or `STALE_MS` are over: the link may be up. */
  #ended(current: Announcement): void {
    if (current === this.#incomplete) {
      this.#incomplete = null;
      this.#directory.retire(current);
    }
    if (this.#complete === null) return;
    this.#staleTimer ??= setTimeout(() => {
      this.#staleTimer = null;
      if (this.#complete !== null) this.#directory.retire(this.#complete);
      this.#complete = null;
    }, STALE_MS).unref();
  }

  #stopTimer(): void {
    if (this.#staleTimer !== null) clearTimeout(this.#staleTimer);
    this.#staleTimer = null;
  }
}

const TOO_MANY = `more than ${MAX_ANNOUNCED_TUNNELS} sessions or tunnels`;

type Valid = Exclude<DecodedLine, { ok: false }>;

/** Only items of the snapshot have no number; a change has the next number. */
function orderProblem(decoded: Valid, expected: number | null, isSnapshot: boolean): string | null {
  const type = 'line' in decoded ? decoded.line.t : decoded.ignored;
  if (expected === null) return type === 'begin' ? null : 'the first line is not begin';
  if (type === 'begin') return 'a second begin';
  const seq = seqOf(decoded);
  if (seq === undefined) return isSnapshot || 'ignored' in decoded ? null : 'a change without a number';
  return seq === expected ? null : 'a change is missing or was repeated';
}

function seqOf(decoded: Valid): number | undefined {
  if (!('line' in decoded)) return decoded.seq;
  return 'seq' in decoded.line ? decoded.line.seq : undefined;
}
