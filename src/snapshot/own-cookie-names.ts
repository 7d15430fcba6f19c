/** Names of cookies, in lower case, that no upstream of an edge may set. */
export interface OwnCookieNames {
  has(name: string): boolean;
}

/** Names reserved by modules on every host, and those added by the configuration of this edge's modules. */
export class EdgeCookieNames implements OwnCookieNames {
  readonly #isReserved: (name: string) => boolean;
  readonly #added = new Set<string>();

  constructor(isReserved: (name: string) => boolean) {
    this.#isReserved = isReserved;
  }

  add(name: string): void {
    this.#added.add(name);
  }

  has(name: string): boolean {
    return this.#added.has(name) || this.#isReserved(name);
  }
}
