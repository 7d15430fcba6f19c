interface Unserved<Worker> {
  readonly revisions: ReadonlySet<number>;
  readonly workers: Set<Worker>;
  readonly done: PromiseWithResolvers<void>;
}

function untilServed(waiting: readonly { readonly done: PromiseWithResolvers<void> }[]): Promise<void> | null {
  return waiting.length === 0 ? null : Promise.all(waiting.map(({ done }) => done.promise)).then(() => {});
}

/** Changes that were shown to workers, until all of these serve them or have ended. Small ones overtake large ones. */
export class UnservedChanges<Worker> {
  readonly #byNumber = new Map<number, Unserved<Worker>>();
  #last = 0;

  /** Returns the number under which workers answer. */
  add(revisions: ReadonlySet<number>, workers: Iterable<Worker>): number {
    this.#last += 1;
    const unserved = { revisions, workers: new Set(workers), done: Promise.withResolvers<void>() };
    if (unserved.workers.size > 0) this.#byNumber.set(this.#last, unserved);
    return this.#last;
  }

  served(worker: Worker, number: number): void {
    const unserved = this.#byNumber.get(number);
    if (unserved?.workers.delete(worker) !== true || unserved.workers.size > 0) return;
    this.#byNumber.delete(number);
    unserved.done.resolve();
  }

  ended(worker: Worker): void {
    for (const number of [...this.#byNumber.keys()]) this.served(worker, number);
  }

  /** Resolves when the changes of a revision are served; null: they are. */
  of(revision: number): Promise<void> | null {
    return untilServed([...this.#byNumber.values()].filter(({ revisions }) => revisions.has(revision)));
  }

  /** Resolves when all that were added until now are served; null: they are. */
  all(): Promise<void> | null {
    return untilServed([...this.#byNumber.values()]);
  }
}
