import { type Change, type CommitListener, revisionOf } from '../store.ts';

/**
 * The change is durable whatever a listener does: its exception is reported as a bug and does not reject the commit's
 * promise.
 */
export function notifyListeners<Changes>(listeners: ReadonlySet<(changes: Changes) => void>, changes: Changes): void {
  for (const listener of listeners) {
    try {
      listener(changes);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** The same for what a follower does before it is notified. */
export async function prepareFollowers<Changes>(
  followers: Iterable<{ readonly prepare?: (changes: Changes) => Promise<void> }>,
  changes: Changes,
): Promise<void> {
  for (const { prepare } of followers) {
    await prepare?.(changes).catch((error: unknown) =>
      queueMicrotask(() => {
        throw error;
      }),
    );
  }
}

/** A longer list has a call of its own. */
const MAX_JOINED = 250;

/**
 * Tells listeners of all commits that became known in the same turn as one list of changes. Writers that shared a
 * transaction share its outcome, and what follows a change, such as compiling an edge, costs as much for one of them
 * as for all.
 */
export class ToldTogether {
  readonly #listeners: ReadonlySet<CommitListener>;
  /** Each is gapless: another process may have written between two of them. */
  #lists: (readonly Change[])[] = [];
  #told: Promise<void> | null = null;

  constructor(listeners: ReadonlySet<CommitListener>) {
    this.#listeners = listeners;
  }

  /** In the order of revisions. Resolves when all listeners were called. */
  tell(changes: readonly Change[]): Promise<void> {
    const [first] = changes;
    if (first === undefined) return this.#told ?? Promise.resolve();
    const list = this.#lists.at(-1) ?? [];
    const last = list.at(-1);
    const isNext = last !== undefined && revisionOf(first) === revisionOf(last) + 1;
    // Listeners were prepared for exactly this list.
    const isApart = Math.max(changes.length, list.length) > MAX_JOINED;
    if (isNext && !isApart) this.#lists.splice(-1, 1, [...list, ...changes]);
    else this.#lists.push(changes);
    // Outcomes of one group resolve together: a microtask runs after the last of them has arrived here.
    this.#told ??= Promise.resolve().then(() => this.#tellAll());
    return this.#told;
  }

  #tellAll(): void {
    const lists = this.#lists;
    this.#lists = [];
    this.#told = null;
    for (const changes of lists) notifyListeners(this.#listeners, changes);
  }
}
