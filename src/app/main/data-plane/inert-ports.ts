import type { AttemptBudgets } from '../../../modules/contract/attempt-budgets.ts';
import type { ModuleRecord, StatePorts } from '../../../modules/contract/keeps-state.ts';
import type { LoginRecords } from '../../../modules/contract/login-store.ts';

/**
 * The same ports without effects, for explanations: a module with these reads what traffic reads, and does nothing.
 * Keys that it makes stay in memory, so that what it signs is accepted nowhere.
 */
export function inertPorts(ports: StatePorts): StatePorts {
  const made = new Map<string, ModuleRecord[]>();
  return {
    ...ports,
    timers: { every: () => () => {}, sleep: (ms) => ports.timers.sleep(ms) },
    log: { info() {}, warn() {}, error() {} },
    network: {
      ...ports.network,
      createFetch: () => () => Promise.reject(new Error('an explanation fetches nothing')),
    },
    records: {
      list: (kind) => made.get(kind) ?? [],
      add: async (kind, record) => void made.set(kind, [...(made.get(kind) ?? []), record]),
      remove: async (kind, id) =>
        void made.set(
          kind,
          (made.get(kind) ?? []).filter((record) => record.id !== id),
        ),
    },
    followed: {
      ...ports.followed,
      write: () => Promise.resolve(false),
      remove: () => Promise.resolve(),
      refresh: () => Promise.resolve(),
      catchUp: () => Promise.resolve(),
      recompile: () => {},
    },
    event: () => {},
    // What it seals opens nowhere.
    seal: () => '',
    randomText: (bytes) => 'A'.repeat(Math.ceil((bytes * 4) / 3)),
    counter: () => () => {},
  };
}

/** An explanation redeems nothing. */
export const NO_ATTEMPTS: AttemptBudgets = {
  redeem: () => Promise.resolve(null),
  guess: () => ({ limit: 'address', retryAfterSeconds: 0 }),
  checkPassword: () => 'wrong',
};

/** Reads as the store does; writes are ignored. */
export function readOnlyLogins(logins: LoginRecords): LoginRecords {
  return {
    threads: null,
    get isShared() {
      return logins.isShared;
    },
    findByKey: (keyHash) => logins.findByKey(keyHash),
    getSession: (id) => logins.getSession(id),
    changesSince: (seq) => logins.changesSince(seq),
    currentSeq: () => logins.currentSeq(),
    onChanged: (listener) => logins.onChanged(listener),
    onForeignChange: (listener) => logins.onForeignChange(listener),
    onReset: (reload) => logins.onReset(reload),
    recordLogin: () => Promise.reject(new Error('an explanation stores nothing')),
    touch: () => Promise.resolve(),
    claimRefresh: () => Promise.resolve(false),
    replaceTokens: () => Promise.resolve(null),
    releaseRefresh: () => Promise.resolve(),
    deleteSession: () => Promise.resolve(false),
    endByKey: () => Promise.resolve([]),
    endByProvider: () => Promise.resolve(null),
    claimOnce: () => Promise.resolve(false),
    endOrphans: () => Promise.resolve([]),
    listEdgeIds: () => Promise.resolve([]),
    prune: () => Promise.resolve([]),
  };
}
