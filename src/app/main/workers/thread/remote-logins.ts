import type {
  LoginChange,
  LoginListener,
  LoginRecord,
  LoginRecords,
  LoginThreads,
  ReplacedKey,
  SeenQuestion,
} from '../../../../modules/contract/login-store.ts';
import { askedIssuers, type IssuerAnswer, type IssuerQuestion } from '../../../../modules/login/provider/providers.ts';
import type { LoginMethod } from '../worker-protocol.ts';

interface RemoteLogins extends LoginRecords {
  /** In the order of the store, before the answer to the call that made the change. */
  changed(changes: readonly LoginChange[]): void;
  foreign(): void;
  reset(): Promise<void>;
  /** By a login in another worker. */
  keyReplaced(key: ReplacedKey): void;
  /** What this thread has in memory. */
  seen(question: SeenQuestion): readonly LoginRecord[];
}

interface LoginThreadCalls extends Pick<LoginThreads, 'keyReplaced' | 'seen'> {
  askIssuer(question: IssuerQuestion): Promise<IssuerAnswer>;
}

/** The logins of the store, which the main thread has. */
export function remoteLogins(
  call: (method: LoginMethod, ...args: readonly unknown[]) => Promise<unknown>,
  calls: LoginThreadCalls,
): RemoteLogins {
  const listeners = new Set<LoginListener>();
  const foreign = new Set<() => void>();
  const resets = new Set<() => void | Promise<void>>();
  const replaced = new Set<(key: ReplacedKey) => void>();
  const knowing = new Set<(question: SeenQuestion) => readonly LoginRecord[]>();
  const remote = <Name extends LoginMethod>(name: Name): LoginRecords[Name] =>
    ((...args: readonly unknown[]) => call(name, ...args)) as LoginRecords[Name];
  return {
    // Other workers see a login used that is idle here.
    isShared: true,
    threads: {
      keyReplaced: (key) => calls.keyReplaced(key),
      seen: (question) => calls.seen(question),
      issuers: (configuredBy) => askedIssuers(configuredBy, (question) => calls.askIssuer(question)),
      onKeyReplaced: (listener) => added(replaced, listener),
      onSeenWanted: (answer) => added(knowing, answer),
    },
    recordLogin: remote('recordLogin'),
    findByKey: remote('findByKey'),
    getSession: remote('getSession'),
    touch: remote('touch'),
    claimRefresh: remote('claimRefresh'),
    replaceTokens: remote('replaceTokens'),
    releaseRefresh: remote('releaseRefresh'),
    deleteSession: remote('deleteSession'),
    endByKey: remote('endByKey'),
    endByProvider: remote('endByProvider'),
    claimOnce: remote('claimOnce'),
    endOrphans: remote('endOrphans'),
    listEdgeIds: remote('listEdgeIds'),
    prune: remote('prune'),
    changesSince: remote('changesSince'),
    currentSeq: remote('currentSeq'),
    onChanged: (listener) => added(listeners, listener),
    onForeignChange: (listener) => added(foreign, listener),
    onReset: (reload) => added(resets, reload),
    changed: (changes) => {
      for (const listener of listeners) listener(changes);
    },
    foreign: () => {
      for (const listener of foreign) listener();
    },
    reset: async () => {
      for (const reload of resets) await reload();
    },
    keyReplaced: (key) => {
      for (const listener of replaced) listener(key);
    },
    seen: (question) => [...knowing].flatMap((answer) => answer(question)),
  };
}

function added<Item>(items: Set<Item>, item: Item): () => void {
  items.add(item);
  return () => {
    items.delete(item);
  };
}

const MAX_WAIT_MS = 50;
const MAX_BATCH = 64;

/**
 * Sends what comes one by one to another thread in batches: a message for each would cost more than the thing itself.
 */
export class SentInBatches<Item> {
  readonly #send: (items: readonly Item[]) => void;
  #gathered: Item[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(send: (items: readonly Item[]) => void) {
    this.#send = send;
  }

  add(item: Item): void {
    this.#gathered.push(item);
    if (this.#gathered.length >= MAX_BATCH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), MAX_WAIT_MS).unref();
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const items = this.#gathered;
    this.#gathered = [];
    if (items.length > 0) this.#send(items);
  }
}
