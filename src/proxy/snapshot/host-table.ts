/** Maps hosts to values: an exact name first, then the wildcard of one label. */
export class HostTable<Value> {
  readonly #exact = new Map<string, Value>();
  readonly #wildcards = new Map<string, Value>();

  find(host: string): Value | undefined {
    const exact = this.#exact.get(host);
    return exact === undefined ? this.findWildcard(host) : exact;
  }

  findExact(host: string): Value | undefined {
    return this.#exact.get(host);
  }

  /** The wildcard's value for a host, ignoring its exact name. */
  findWildcard(host: string): Value | undefined {
    if (this.#wildcards.size === 0) return undefined;
    const dot = host.indexOf('.');
    return dot <= 0 ? undefined : this.#wildcards.get(host.slice(dot + 1));
  }

  /** Looks up the pattern itself, not the hosts that it covers. */
  get(pattern: string): Value | undefined {
    return pattern.startsWith('*.') ? this.#wildcards.get(pattern.slice(2)) : this.#exact.get(pattern);
  }

  set(pattern: string, value: Value): void {
    if (pattern.startsWith('*.')) this.#wildcards.set(pattern.slice(2), value);
    else this.#exact.set(pattern, value);
  }

  delete(pattern: string): void {
    if (pattern.startsWith('*.')) this.#wildcards.delete(pattern.slice(2));
    else this.#exact.delete(pattern);
  }

  get size(): number {
    return this.#exact.size + this.#wildcards.size;
  }
}
