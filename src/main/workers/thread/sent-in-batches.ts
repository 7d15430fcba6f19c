const MAX_WAIT_MS = 50;
const MAX_BATCH = 64;

/** Sends what comes one by one to another thread in batches: a message for each would cost more than the thing itself. */
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
