/**
 * A part that opens after those that ask it, in answer to requests. `get` fails while it is missing. `ifOpen` is for
 * questions that may come before: it is null until then. A part opens once.
 */
export class LatePart<Part> {
  readonly #name: string;
  readonly #opened = Promise.withResolvers<Part>();
  #part: { readonly value: Part } | null = null;

  /** `name`: for the error, such as "the gateway". */
  constructor(name: string) {
    this.#name = name;
  }

  get ifOpen(): Part | null {
    return this.#part === null ? null : this.#part.value;
  }

  /** Resolves when the part opens. */
  get whenOpen(): Promise<Part> {
    return this.#opened.promise;
  }

  open(value: Part): void {
    if (this.#part !== null) throw new Error(`${this.#name} is open already`);
    this.#part = { value };
    this.#opened.resolve(value);
  }

  get(): Part {
    if (this.#part === null) throw new Error(`${this.#name} is not open yet`);
    return this.#part.value;
  }
}
