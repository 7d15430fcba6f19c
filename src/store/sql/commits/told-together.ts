import { revisionOf } from '../../revision-of.ts';
import type { Change, CommitListener } from '../../store.ts';
import { notifyListeners } from './notify-listeners.ts';

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
