import { SliceLane, TimeSlice } from '../../lib/async/slice-lane.ts';
import { reportBug } from '../../lib/bug-report.ts';
import type { FeedFollower } from '../links/peer-links.ts';
import type { AnnouncedSession } from './announced.ts';
import type { Announcement } from './announcement.ts';
import { FEED_VERSION, type FeedLine } from './feed-lines.ts';

/** Many nodes may start to follow this node at the same moment. */
const LANE = new SliceLane();

/**
 * The feed to one node that follows this node: *snapshot* (in slices, as fast as the other node reads), then *changes*.
 * Changes are sent at once, also between items of the snapshot: an item that is sent later contains the change.
 */
export class FollowerFeed {
  readonly #follower: FeedFollower;
  readonly #seq: number;
  readonly #items: Iterator<FeedLine>;
  #isSnapshot = true;
  #isStopped = false;
  #isPausing = false;

  constructor(follower: FeedFollower, own: Announcement, seq: number) {
    this.#follower = follower;
    this.#seq = seq;
    this.#items = itemsOf(own);
  }

  start(): void {
    this.#follower.onRoom(() => void this.#continue());
    this.#write({ t: 'begin', v: FEED_VERSION, seq: this.#seq });
    void this.#continue();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Sends a numbered line, after the session that the line refers to. */
  change(line: string, session: AnnouncedSession | null): void {
    if (this.#isStopped) return;
    // The follower may not have received the session yet.
    if (this.#isSnapshot && session !== null) this.#write({ t: 'session', session });
    this.#send(line);
  }

  async #continue(): Promise<void> {
    if (!this.#isSnapshot || this.#isPausing) return;
    const slice = new TimeSlice(LANE);
    while (!this.#isStopped && this.#follower.hasRoom) {
      const next = this.#items.next();
      if (next.done === true) {
        this.#isSnapshot = false;
        this.#write({ t: 'end' });
        return;
      }
      this.#write(next.value);
      if (!slice.isOver) continue;
      this.#isPausing = true;
      await slice.next();
      this.#isPausing = false;
    }
  }

  #write(line: FeedLine): void {
    this.#send(JSON.stringify(line));
  }

  #send(line: string): void {
    if (this.#isStopped) return;
    try {
      if (!this.#follower.send(line)) this.stop();
    } catch (error) {
      // The line is too long: the follower notices the gap in the numbers.
      reportBug(error, { part: 'directory feed', node: this.#follower.nodeId });
    }
  }
}

function* itemsOf(own: Announcement): Generator<FeedLine> {
  for (const { session, tunnels } of own.claims.values()) {
    yield { t: 'session', session };
    for (const tunnel of tunnels.values()) yield { t: 'tunnel', tunnel };
  }
}
