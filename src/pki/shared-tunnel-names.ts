import type { Clock } from '../lib/clock.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../store/store.ts';

const KEY = { kind: 'tunnel_names', id: 'tunnel_names' };
const DAY_MS = 86_400_000;
/** A node that is gone for good, or has another address with every start, must not stay in certificates. */
const KEPT_DAYS = 90;
const MAX_NAMES = 200;
const ATTEMPTS = 5;

export interface SharedTunnelNames {
  /** Names and addresses under which agents may dial any node. */
  all(): readonly string[];
  onChange(listener: () => void): () => void;
}

interface Parts {
  readonly store: Pick<Store, 'commit'>;
  readonly replica: Pick<Replica, 'get' | 'refresh' | 'onChange'>;
  readonly clock: Clock;
  readonly onProblem: (error: unknown) => void;
}

/**
 * An agent verifies the name in its own configuration at every node, also at those that another node has named to it. So
 * the certificate of each node has the names of all, which the store keeps: that of a dead node above all.
 */
export async function shareTunnelNames(own: readonly string[], parts: Parts): Promise<SharedTunnelNames> {
  const { replica, onProblem } = parts;
  await addNames(own, parts).catch(onProblem);
  return {
    all: () => [...new Set([...own, ...Object.keys(storedNames(replica))])],
    onChange: (listener) =>
      replica.onChange(
        (changes) => {
          if (changes.some((change) => change.op === 'put')) listener();
        },
        [KEY.kind],
      ),
  };
}

/** Each name with the day on which a node last had it. */
function storedNames(replica: Parts['replica']): Readonly<Record<string, number>> {
  return (replica.get(KEY.kind, KEY.id)?.doc['names'] ?? {}) as Readonly<Record<string, number>>;
}

async function addNames(own: readonly string[], { store, replica, clock }: Parts): Promise<void> {
  const today = Math.floor(clock.nowMs() / DAY_MS);
  for (let attempt = 1; ; attempt += 1) {
    const stored = storedNames(replica);
    if (own.every((name) => (stored[name] ?? 0) >= today - 1)) return;
    const names = Object.fromEntries(
      Object.entries({ ...stored, ...Object.fromEntries(own.map((name) => [name, today])) })
        .filter(([, day]) => day > today - KEPT_DAYS)
        .sort(([, one], [, other]) => other - one)
        .slice(0, MAX_NAMES),
    );
    const seen = replica.get(KEY.kind, KEY.id);
    const committed = await store.commit({
      expect: [{ ...KEY, revision: seen?.revision ?? 'absent' }],
      puts: [{ ...KEY, parent: null, doc: { names }, secrets: null, uniqueKeys: [], references: [] }],
    });
    if (committed.ok) return;
    if (attempt === ATTEMPTS) throw new Error(`the names of this node for agents were not stored: ${committed.reason}`);
    await replica.refresh();
  }
}
