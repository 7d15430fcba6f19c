/** What a credential lets its agents open. No rule at all: anything. */
export class Acl {
  readonly #rules: ReadonlySet<string>;

  constructor(rules: readonly string[]) {
    this.#rules = new Set(rules.map((rule) => rule.replace(/^bind:/, '')));
  }

  allowsHost(host: string): boolean {
    if (this.#allowsAnything()) return true;
    // As edges have it: a wildcard stands for one label.
    return this.#rules.has(host) || this.#rules.has(`*${host.slice(host.indexOf('.'))}`);
  }

  /** By name, not by a wildcard and not by having no rules: only this opens a host that an edge covers. */
  namesExactly(host: string): boolean {
    return this.#rules.has(host);
  }

  allowsLabels(labels: Readonly<Record<string, string>>): boolean {
    return this.#allowsAnything() || Object.entries(labels).every(([key, value]) => this.#rules.has(`${key}=${value}`));
  }

  /** Ports have no name that a rule could allow: they go with the right to everything. */
  allowsPorts(): boolean {
    return this.#allowsAnything();
  }

  #allowsAnything(): boolean {
    return this.#rules.size === 0 || this.#rules.has('*');
  }
}
