import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { HeardChanges } from '../../../store/replica/replica.ts';
import { type Change, type LoginChange, revisionOf, type Store } from '../../../store/store.ts';
import type { FeedFollower, PeerLinks } from '../links/peer-links.ts';

export const NEWS_FEED = 'news';
export const NEWS_SINCE = 'node.news';

/** Other nodes hear only the deletions of a larger commit. Sealed, a line of a feed has at most twice this length. */
export const MAX_NEWS_CHARACTERS = 120_000;
/** Size of an answer to a node that has no database. */
export const MAX_SINCE_BYTES = 8_388_608;

/** Every node sends a line this often: news of a silent node may not have arrived. */
export const NEWS_EVERY_MS = 500;

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const name = Type.String({ maxLength: 512 });
const key = Type.Object({ kind: name, id: name });
const texts = Type.Record(Type.String(), Type.String());
const change = Type.Union([
  Type.Object({
    op: Type.Literal('put'),
    record: Type.Object({
      kind: name,
      id: name,
      parent: Type.Union([name, Type.Null()]),
      revision: count,
      doc: Type.Record(Type.String(), Type.Unknown()),
      secrets: Type.Union([texts, Type.Null()]),
    }),
  }),
  Type.Object({ op: Type.Literal('delete'), key, revision: count }),
]);
const heard = { after: count, revision: count, changes: Type.Array(change) };
const login = Type.Object({ op: Type.Enum(['put', 'end']), sessionId: name, keyHash: name });
const logins = Type.Array(login);

const news = Compile(Type.Union([Type.Object(heard), Type.Object({ logins })]));
const since = Compile(
  Type.Object({
    /** Null: the feed does not reach back that far. */
    records: Type.Union([Type.Object(heard), Type.Null()]),
    logins: Type.Object({ isComplete: Type.Boolean(), seq: count, changes: logins }),
  }),
);
/** A line of the feed. `revision`: the sender's revision, in its first line. A line without news is a sign of life. */
export const newsLine = Compile(
  Type.Object({ v: Type.Literal(1), revision: Type.Optional(count), sealed: Type.Optional(Type.String()) }),
);
export interface NewsLine {
  readonly v: 1;
  readonly revision?: number;
  readonly sealed?: string;
}

/** Commits of a node, or changes that the node made to logins. */
export type News = HeardChanges | { readonly logins: readonly LoginChange[] };

export interface NewsSince {
  readonly records: HeardChanges | null;
  readonly logins: { readonly isComplete: boolean; readonly seq: number; readonly changes: readonly LoginChange[] };
}

/** Secrets of records are among the news, and leave the process sealed only. */
export interface NewsSeal {
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
}

const PURPOSE = 'news of nodes';

export function sealNews(store: NewsSeal, what: News | NewsSince): string {
  return store.seal(PURPOSE, JSON.stringify(what));
}

export function openNews(store: NewsSeal, sealed: string): News {
  const value = opened(store, sealed);
  if (!news.Check(value)) throw new Error('a node told malformed news');
  return value as News;
}

export function openNewsSince(store: NewsSeal, sealed: string): NewsSince {
  const value = opened(store, sealed);
  if (!since.Check(value)) throw new Error('a node answered with malformed news');
  return value as NewsSince;
}

function opened(store: NewsSeal, sealed: string): unknown {
  const text = store.open(PURPOSE, sealed);
  if (text === null) throw new Error('a node told news that this one cannot open');
  return JSON.parse(text);
}

const DELETES_PER_LINE = 500;

interface OwnNewsOptions {
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
