const MAX_PROBLEMS = 20;
const MAX_TEXT = 300;

/** Lines about what a node cannot do. Every heartbeat carries them, so their number and length are bounded. */
export class NodeProblems {
  readonly #lines = new Map<string, string>();

  /** Whether anything changed. */
  set(key: string, text: string | null): boolean {
    if (text === null) return this.#lines.delete(key);
    const line = text.slice(0, MAX_TEXT);
    if (this.#lines.get(key) === line) return false;
    if (!this.#lines.has(key) && this.#lines.size >= MAX_PROBLEMS) return false;
    this.#lines.set(key, line);
    return true;
  }

  get lines(): readonly string[] {
    return [...this.#lines.values()];
  }
}
