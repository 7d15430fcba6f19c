type Labels = Readonly<Record<string, string>>;

/** Tunnels by their labels, so that a selector visits only tunnels with its rarest label. */
export class LabelIndex<Tunnel extends object> {
  /** Keyed by `key=value`. */
  readonly #byLabel = new Map<string, Set<Tunnel>>();

  matching(labels: Labels): readonly Tunnel[] {
    const sets = labelKeys(labels).map((key) => this.#byLabel.get(key));
    const [rarest] = sets.toSorted((a, b) => (a?.size ?? 0) - (b?.size ?? 0));
    if (rarest === undefined) return [];
    return [...rarest].filter((tunnel) => sets.every((set) => set?.has(tunnel) === true));
  }

  add(tunnel: Tunnel, labels: Labels | null): void {
    for (const key of labelKeys(labels ?? {})) {
      const set = this.#byLabel.get(key);
      if (set === undefined) this.#byLabel.set(key, new Set([tunnel]));
      else set.add(tunnel);
    }
  }

  remove(tunnel: Tunnel, labels: Labels | null): void {
    for (const key of labelKeys(labels ?? {})) {
      const set = this.#byLabel.get(key);
      set?.delete(tunnel);
      if (set?.size === 0) this.#byLabel.delete(key);
    }
  }
}

function labelKeys(labels: Labels): readonly string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`);
}
