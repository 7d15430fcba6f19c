/** Problems shown to other nodes: every heartbeat carries these lines. */
const MAX_SHOWN = 20;
const MAX_KEPT = 1_000;
const MAX_TEXT = 300;
/** Start of the keys of problems with ports. Each tunnel may have one. */
const PORT = 'port ';

/** Lines about problems of a node. Their number and length are bounded, and problems with ports come last. */
export class NodeProblems {
  readonly #lines = new Map<string, string>();

  /** Whether anything changed. */
  set(key: string, text: string | null): boolean {
    if (text === null) return this.#lines.delete(key);
    const line = text.slice(0, MAX_TEXT);
    if (this.#lines.get(key) === line) return false;
    if (!this.#lines.has(key) && this.#lines.size >= MAX_KEPT) return false;
    this.#lines.set(key, line);
    return true;
  }

  get lines(): readonly string[] {
    const keys = [...this.#lines.keys()];
    const sorted = [...keys.filter((key) => !key.startsWith(PORT)), ...keys.filter((key) => key.startsWith(PORT))];
    const lines = sorted.map((key) => this.#lines.get(key) ?? '');
    if (lines.length <= MAX_SHOWN) return lines;
    const shown = lines.slice(0, MAX_SHOWN - 1);
    return [...shown, `and ${lines.length - shown.length} more problems`];
  }
}
