import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../../kit/async/waiting.ts';
import { Standstill } from '../../../kit/process/standstill.ts';
import type { FeedPosition } from '../../../store/node-store.ts';
import type { HeardChanges, Replica } from '../../../store/replica/replica.ts';
import type { LoginChange, Store } from '../../../store/store.ts';
import {
  type FeedHandler,
  type FollowedFeed,
  type PeerLinks,
  type PeerMessage,
  PeerRefusal,
} from '../links/peer-links.ts';
import type { NodeMembership } from '../membership/node-membership.ts';
import {
  MAX_SINCE_BYTES,
  NEWS_EVERY_MS,
  NEWS_FEED,
  NEWS_SINCE,
  type News,
  type NewsSeal,
  type NewsSince,
  newsLine,
  OwnNews,
  openNews,
  openNewsSince,
  sealNews,
} from './news.ts';

interface FollowedNewsPorts {
  readonly seal: NewsSeal;
  readonly monotonicMs: () => number;
  /** Everything up to this revision is known here. */
  readonly revision: () => number;
  heard(nodeId: string, news: News): void;
  /** The node knows later revisions than this node. */
  behind(nodeId: string): void;
}

/** The news of one other node, as long as the link to that node is up. */
export class FollowedNews implements FeedHandler {
  readonly nodeId: string;
  readonly #feed: FollowedFeed;
  readonly #ports: FollowedNewsPorts;
  readonly #onEnd: () => void;
  /** The node's revision when the feed began; infinite until the node has told it. */
  #from = Number.POSITIVE_INFINITY;
  #heardAtMs = Number.NEGATIVE_INFINITY;

  constructor(nodeId: string, feed: FollowedFeed, ports: FollowedNewsPorts, onEnd: () => void) {
    this.nodeId = nodeId;
    this.#feed = feed;
    this.#ports = ports;
    this.#onEnd = onEnd;
  }

  /** This node knows everything that the other node committed until about this time. */
  get knownAtMs(): number {
    return this.#ports.revision() >= this.#from ? this.#heardAtMs : Number.NEGATIVE_INFINITY;
  }

  onLine(text: string): void {
    try {
      this.#read(JSON.parse(text));
    } catch {
      // The content is secret, so no detail is reported. The feed reports that its lines are wrong.
      this.#feed.close();
    }
  }

  onEnd(): void {
    this.#onEnd();
  }

  #read(line: unknown): void {
    if (!newsLine.Check(line)) throw new Error('a malformed line');
    const { revision, sealed } = line;
    this.#heardAtMs = this.#ports.monotonicMs();
    if (revision !== undefined) {
      this.#from = revision;
      if (revision > this.#ports.revision()) this.#ports.behind(this.nodeId);
    }
    if (sealed !== undefined) this.#ports.heard(this.nodeId, openNews(this.#ports.seal, sealed));
  }
}

/** After this time without knowledge, this node cannot tell whether a key was revoked. */
const UNKNOWN_AFTER_MS = 5_000;

/**
 * The time, by the monotonic clock, up to which this node knows what was deleted, disabled or narrowed on any node.
 */
class KnownUntil {
  readonly #monotonicMs: () => number;
  #knownAtMs: number;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#knownAtMs = monotonicMs();
  }

  /** Called per request. */
  get isCurrent(): boolean {
    return this.#monotonicMs() - this.#knownAtMs < UNKNOWN_AFTER_MS;
  }

  at(ms: number): void {
    this.#knownAtMs = Math.max(this.#knownAtMs, ms);
  }
}

interface NodeNewsOptions {
  readonly membership: Pick<NodeMembership, 'others' | 'isDatabaseAway' | 'onPosition'>;
  /** Null: this node has no peer listener. */
  readonly links: PeerLinks | null;
  readonly store: Store;
  readonly replica: Replica;
  readonly monotonicMs?: (() => number) | undefined;
}

const WAITING = 'changes of other nodes';

type LoginsSince = NewsSince['logins'];

/** Size of an answer without its sealed part. */
const MARGIN_BYTES = 1_024;
/** How long the database may take to answer the node that is asked. */
const ANSWER_MS = 3_500;
const ASK_MS = 4_000;
/** A database that has not answered within this time may be away. */
const PATIENCE_MS = 700;
/** A node that stood still may have lost its connections. */
const BEHIND_MS = 5_000;

/**
 * Commits of other nodes, without the way over the database: nodes tell their commits over their links (`OwnNews`), and
 * a node that has the database tells a node without the database which changes it has missed. All changes go through
 * the replica, which later reads the same changes from the store and corrects them.
 *
 * This node knows all revocations up to a time if it knew the database's position at that time and had applied all
 * changes up to that position, or if every other node is linked and has told its changes.
 */
export class NodeNews {
  readonly #options: NodeNewsOptions;
  readonly #monotonicMs: () => number;
  readonly #known: KnownUntil;
  readonly #standstill = new Standstill(() => this.catchUp(BEHIND_MS));
  readonly #feeds = new Map<string, FollowedNews>();
  readonly #onLogins = new Set<(changes: readonly LoginChange[]) => void>();
  readonly #stops: (() => void)[] = [];
  #catchingUp: Promise<void> | null = null;

  constructor(options: NodeNewsOptions) {
    const { membership, links, replica, store, monotonicMs = () => performance.now() } = options;
    this.#options = options;
    this.#monotonicMs = monotonicMs;
    this.#known = new KnownUntil(monotonicMs);
    this.#stops.push(membership.onPosition((position, sentAtMs, from) => this.#positioned(position, sentAtMs, from)));
    const timer = setInterval(() => this.#compare(), NEWS_EVERY_MS).unref();
    this.#stops.push(() => clearInterval(timer));
    if (links === null) return;
    const own = new OwnNews({ store, links, revision: () => replica.heardRevision });
    this.#stops.push(() => own.close());
    links.serve(NEWS_SINCE, (message) => this.#answer(message), MAX_SINCE_BYTES);
    links.followFeeds(NEWS_FEED, (nodeId, feed) => {
      const followed = new FollowedNews(
        nodeId,
        feed,
        {
          seal: store,
          monotonicMs,
          revision: () => replica.heardRevision,
          heard: (from, news) => this.#heard(from, news),
          behind: (from) => void this.#catchUpFrom(from),
        },
        () => {
          if (this.#feeds.get(nodeId) === followed) this.#feeds.delete(nodeId);
        },
      );
      this.#feeds.set(nodeId, followed);
      return followed;
    });
  }

  /**
   * False: a key that this node knows may have been revoked elsewhere more than `UNKNOWN_AFTER_MS` ago, or while this
   * node stood still.
   */
  get isCurrent(): boolean {
    return this.#standstill.look() === null && this.#known.isCurrent;
  }

  /** Not null after this node stood still, until it has caught up: false if it could not. */
  get behind(): Promise<boolean> | null {
    return this.#standstill.look();
  }

  onLogins(listener: (changes: readonly LoginChange[]) => void): () => void {
    this.#onLogins.add(listener);
    return () => this.#onLogins.delete(listener);
  }

  /** Changes of logins from the store, or from a linked node if the store takes long or fails. */
  async loginsSince(seq: number): Promise<LoginsSince> {
    const { store, membership } = this.#options;
    const reading = store.logins.changesSince(seq);
    reading.catch(() => {});
    try {
      return await within(reading, membership.isDatabaseAway ? 1 : PATIENCE_MS, 'the database');
    } catch {
      return Promise.any([reading, this.#ask(seq).then(({ logins }) => logins)]).catch(() => reading);
    }
  }

  /** Afterwards the replica shows everything that was committed before the call. Rejects when that cannot be known. */
  async catchUp(timeoutMs: number): Promise<void> {
    const { membership, replica, store } = this.#options;
    const isFailing = store.health().state !== 'ok';
    // No other node can have written.
    if (isFailing && membership.others().length === 0) return;
    const patienceMs = isFailing || membership.isDatabaseAway ? 0 : PATIENCE_MS;
    const fromNodes = sleep(patienceMs, undefined, { ref: false }).then(() => this.#hearRest());
    const answers = isFailing ? [fromNodes] : [replica.refresh(), fromNodes];
    await within(Promise.any(answers), timeoutMs, WAITING);
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  #heard(from: string, news: News): void {
    if ('logins' in news) for (const listener of this.#onLogins) listener(news.logins);
    else if (!this.#options.replica.hear(news)) void this.#catchUpFrom(from);
  }

  #positioned({ revision }: FeedPosition, sentAtMs: number, from: string | null): void {
    const { replica } = this.#options;
    if (replica.heardRevision >= revision) {
      this.#known.at(sentAtMs);
      return;
    }
    void this.#catchUpFrom(from).then(
      () => {
        if (replica.heardRevision >= revision) this.#known.at(sentAtMs);
      },
      () => {},
    );
  }

  /** Runs once at a time. The next position shows whether changes are still missing. */
  #catchUpFrom(from: string | null): Promise<void> {
    const { membership, replica } = this.#options;
    const work = (): Promise<void> =>
      from === null || !membership.isDatabaseAway ? replica.refresh() : this.#hearRest([from]);
    this.#catchingUp ??= work().finally(() => {
      this.#catchingUp = null;
    });
    this.#catchingUp.catch(() => {});
    return this.#catchingUp;
  }

  #compare(): void {
    void this.#standstill.look();
    const others = this.#options.membership.others();
    const times = others.map((id) => this.#feeds.get(id)?.knownAtMs ?? Number.NEGATIVE_INFINITY);
    this.#known.at(Math.min(this.#monotonicMs(), ...times));
  }

  async #hearRest(nodeIds?: readonly string[]): Promise<void> {
    const { records } = await this.#ask(null, nodeIds);
    if (records === null) throw new Error('this node has missed too much: it must read it from the database');
    this.#options.replica.hear(records);
  }

  /** The first answer of a linked node that has the database. */
  #ask(loginSeq: number | null, nodeIds?: readonly string[]): Promise<NewsSince> {
    const { links, replica, store } = this.#options;
    const message = { v: 1, revision: replica.heardRevision, login_seq: loginSeq };
    const linked = links === null ? [] : [...links.all()].map(({ nodeId }) => nodeId);
    const asked = linked.filter((id) => nodeIds?.includes(id) !== false);
    return Promise.any(
      asked.map(async (id) => {
        const { sealed } = await (links as PeerLinks).call(id, NEWS_SINCE, message, ASK_MS, MAX_SINCE_BYTES);
        return openNewsSince(store, typeof sealed === 'string' ? sealed : '');
      }),
    );
  }

  async #answer({ revision, login_seq: loginSeq }: PeerMessage): Promise<PeerMessage> {
    const { store } = this.#options;
    if (!isCount(revision) || !(loginSeq === null || isCount(loginSeq)))
      throw new PeerRefusal('malformed', 'revision and login_seq must be numbers');
    if (store.health().state !== 'ok') throw new PeerRefusal('no_database', 'this node has no database either');
    const reading = Promise.all([
      store.changesSince(revision),
      loginSeq === null ? NO_LOGINS : store.logins.changesSince(loginSeq),
    ]);
    const [found, logins] = await within(reading, ANSWER_MS, 'the database').catch((): never => {
      throw new PeerRefusal('no_database', 'the database of this node does not answer');
    });
    const records: HeardChanges | null = found.isComplete
      ? { after: revision, revision: found.revision, changes: found.changes }
      : null;
    const sealed = sealNews(store, { records, logins });
    if (sealed.length > MAX_SINCE_BYTES - MARGIN_BYTES)
      throw new PeerRefusal('too_much', 'there are too many changes: read them from the database');
    return { sealed };
  }
}

const NO_LOGINS: LoginsSince = { isComplete: true, seq: 0, changes: [] };

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
