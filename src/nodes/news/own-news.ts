import { reportBug } from '../../lib/bug-report.ts';
import { type Change, type LoginChange, revisionOf, type Store } from '../../store/store.ts';
import type { FeedFollower, PeerLinks } from '../links/peer-links.ts';
import { MAX_NEWS_CHARACTERS, NEWS_EVERY_MS, NEWS_FEED, type News, type NewsLine, sealNews } from './news.ts';

const DELETES_PER_LINE = 500;

export interface OwnNewsOptions {
  readonly store: Pick<Store, 'onCommitted' | 'seal' | 'open'> & {
    readonly logins: Pick<Store['logins'], 'onChanged'>;
  };
  readonly links: Pick<PeerLinks, 'serveFeed'>;
  /** This node knows everything up to this revision. */
  readonly revision: () => number;
}

/** Tells the nodes that follow this node what it commits, at once: before the callers of this node get their answer. */
export class OwnNews {
  readonly #options: OwnNewsOptions;
  readonly #followers = new Set<FeedFollower>();
  readonly #stops: (() => void)[];

  constructor(options: OwnNewsOptions) {
    const { store, links } = options;
    this.#options = options;
    const timer = setInterval(() => this.#send({ v: 1 }), NEWS_EVERY_MS).unref();
    this.#stops = [
      store.onCommitted((changes) => this.#committed(changes)),
      store.logins.onChanged((changes) => this.#loginsChanged(changes)),
      () => clearInterval(timer),
    ];
    links.serveFeed(NEWS_FEED, (follower) => this.#follow(follower));
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  #follow(follower: FeedFollower): void {
    this.#followers.add(follower);
    follower.onGone(() => this.#followers.delete(follower));
    // The follower may have missed earlier changes.
    follower.send(JSON.stringify({ v: 1, revision: this.#options.revision() } satisfies NewsLine));
  }

  #committed(changes: readonly Change[]): void {
    const [first] = changes;
    const last = changes.at(-1);
    if (first === undefined || last === undefined || this.#followers.size === 0) return;
    const whole = { after: revisionOf(first) - 1, revision: revisionOf(last), changes };
    if (charactersIn(changes) <= MAX_NEWS_CHARACTERS) {
      this.#tell(whole);
      return;
    }
    if (whole.after + 1 < whole.revision) {
      for (const ofOne of Map.groupBy(changes, revisionOf).values()) this.#committed(ofOne);
      return;
    }
    // Followers read the rest from the store: no follower has the revision in `after`, so each notices the gap.
    const deletes = changes.filter(({ op }) => op === 'delete');
    for (let at = 0; at <= deletes.length; at += DELETES_PER_LINE) {
      this.#tell({ ...whole, after: whole.revision, changes: deletes.slice(at, at + DELETES_PER_LINE) });
    }
  }

  #loginsChanged(changes: readonly LoginChange[]): void {
    if (this.#followers.size === 0) return;
    for (let at = 0; at < changes.length; at += DELETES_PER_LINE) {
      this.#tell({ logins: changes.slice(at, at + DELETES_PER_LINE) });
    }
  }

  #tell(news: News): void {
    this.#send({ v: 1, sealed: sealNews(this.#options.store, news) });
  }

  #send(line: NewsLine): void {
    const text = JSON.stringify(line);
    for (const follower of this.#followers) {
      try {
        follower.send(text);
      } catch (error) {
        reportBug(error, { part: 'news', node: follower.nodeId });
      }
    }
  }
}

/** Stops early: a change of thousands of records must not be serialized twice. */
function charactersIn(changes: readonly Change[]): number {
  let characters = 0;
  for (const change of changes) {
    characters += JSON.stringify(change).length;
    if (characters > MAX_NEWS_CHARACTERS) break;
  }
  return characters;
}
