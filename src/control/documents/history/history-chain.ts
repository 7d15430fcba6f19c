import { createHmac, randomBytes } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../../kit/json.ts';
import { isSameSecret } from '../../../kit/text/secrets.ts';
import { addSealedRecord, type Replica } from '../../../store/replica/replica.ts';
import type { HistoryDocument, HistoryLink, LinkableEntry, Store } from '../../../store/store.ts';

/**
 * The link of an entry: it authenticates the entry's plain content and the link before it. So nobody without the key
 * can change, remove or insert an entry without breaking every later link; and sealing secrets under another key breaks
 * none.
 */
async function chainLink(key: string, previous: string, entry: LinkableEntry): Promise<string> {
  const { revision, atMs, note } = entry;
  const head = canonicalJson([previous, revision, atMs, note.author, note.message]);
  const hmac = createHmac('sha256', key).update(head.slice(0, -1)).update(',[');
  let separator = '';
  for await (const page of entry.pages()) {
    for (const { kind, id, before, after } of page) {
      hmac.update(`${separator}${canonicalJson([kind, id, plain(before), plain(after)])}`);
      separator = ',';
    }
  }
  return hmac.update(']]').digest('hex');
}

function plain(document: HistoryDocument | null): JsonValue {
  return document === null ? null : [document.parent, document.doc, document.secrets && { ...document.secrets }];
}

/** The key that links entries: a record of its own, so that it outlives rotations of the secret key. */
const KEY_KIND = 'history_key';
const KEY_ID = 'history_key';
const KEY_FIELD = '/key';
const ENTRIES_PER_PAGE = 250;
const LINK_AFTER_MS = 200;

interface Verification {
  readonly isIntact: boolean;
  readonly checked: number;
  /** The newest entries are linked a moment after their change. */
  readonly unlinked: number;
  /** The first entry whose link is wrong; null if all are right. */
  readonly firstBroken: number | null;
}

/** Links the entries of the history after their changes, in order, and verifies the links. */
export class HistoryChain {
  readonly #store: Store;
  readonly #replica: Replica;
  readonly #onProblem: (error: unknown) => void;
  readonly #stop: () => void;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(store: Store, replica: Replica, onProblem: (error: unknown) => void) {
    this.#store = store;
    this.#replica = replica;
    this.#onProblem = onProblem;
    this.#stop = store.onCommitted(() => this.#wake());
    this.#wake();
  }

  /** Stores the key before the first change: a later one would take a revision of its own in between. */
  async prepare(): Promise<void> {
    try {
      await this.#key();
    } catch (error) {
      this.#onProblem(error);
    }
  }

  async verify(): Promise<Verification> {
    const { history } = this.#store;
    const key = await this.#key();
    const anchor = await history.anchor();
    let previous = anchor?.chain ?? '';
    let from = (anchor?.revision ?? 0) + 1;
    let checked = 0;
    let unlinked = 0;
    for (;;) {
      const page = await history.following(from, ENTRIES_PER_PAGE);
      for (const entry of page) {
        if (entry.chain === null) unlinked += 1;
        else if (unlinked > 0 || !isSameSecret(entry.chain, await chainLink(key, previous, entry))) {
          return { isIntact: false, checked, unlinked, firstBroken: entry.revision };
        } else {
          previous = entry.chain;
          checked += 1;
        }
      }
      const last = page.at(-1);
      if (last === undefined) return { isIntact: true, checked, unlinked, firstBroken: null };
      from = last.revision + 1;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  /** A moment later, so that several changes share a write. */
  #wake(): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#running = this.#running.then(() => this.#linkAll()).catch((error: unknown) => this.#onProblem(error));
    }, LINK_AFTER_MS).unref();
  }

  async #linkAll(): Promise<void> {
    const { history } = this.#store;
    while (!this.#isClosed) {
      const { previous, entries } = await history.unlinked(ENTRIES_PER_PAGE);
      if (entries.length === 0) return;
      const key = await this.#key();
      let last = previous;
      const links: HistoryLink[] = [];
      for (const entry of entries) {
        last = await chainLink(key, last, entry);
        links.push({ revision: entry.revision, chain: last });
      }
      await history.link(links);
    }
  }

  async #key(): Promise<string> {
    const known = this.#replica.get(KEY_KIND, KEY_ID)?.secrets?.[KEY_FIELD];
    if (known !== undefined) return JSON.parse(known) as string;
    const secret = randomBytes(32).toString('base64url');
    await addSealedRecord(this.#store, this.#replica, {
      kind: KEY_KIND,
      id: KEY_ID,
      doc: {},
      field: KEY_FIELD,
      secret,
    });
    const stored = this.#replica.get(KEY_KIND, KEY_ID)?.secrets?.[KEY_FIELD];
    if (stored === undefined) throw new Error('the key of the history was not stored');
    return JSON.parse(stored) as string;
  }
}
