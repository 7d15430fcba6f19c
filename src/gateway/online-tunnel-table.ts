import type { OnlineTunnel, OnlineTunnels } from '../edge/tunnels/online-tunnels.ts';
import type { BoundTunnel } from './bound-tunnel.ts';

/** Tunnels that can receive traffic now. */
export class OnlineTunnelTable implements OnlineTunnels {
  readonly #byId = new Map<string, BoundTunnel>();
  /** Keyed by `key=value`, so that a selector visits only tunnels with its rarest label. */
  readonly #byLabel = new Map<string, Set<BoundTunnel>>();
  #generation = 0;

  get generation(): number {
    return this.#generation;
  }

  get size(): number {
    return this.#byId.size;
  }

  get(tunnelId: string): OnlineTunnel | undefined {
    return this.#byId.get(tunnelId);
  }

  matching(labels: Readonly<Record<string, string>>): readonly OnlineTunnel[] {
    const wanted = labelKeys(labels);
    const sets = wanted.map((key) => this.#byLabel.get(key));
    const [rarest] = sets.toSorted((a, b) => (a?.size ?? 0) - (b?.size ?? 0));
    if (rarest === undefined) return [];
    return [...rarest].filter((tunnel) => sets.every((set) => set?.has(tunnel) === true));
  }

  add(tunnel: BoundTunnel): void {
    this.#generation += 1;
    this.#byId.set(tunnel.id, tunnel);
    for (const key of labelKeys(tunnel.labels ?? {})) {
      const set = this.#byLabel.get(key);
      if (set === undefined) this.#byLabel.set(key, new Set([tunnel]));
      else set.add(tunnel);
    }
  }

  remove(tunnel: BoundTunnel): void {
    if (this.#byId.get(tunnel.id) !== tunnel) return;
    this.#generation += 1;
    this.#byId.delete(tunnel.id);
    for (const key of labelKeys(tunnel.labels ?? {})) {
      const set = this.#byLabel.get(key);
      set?.delete(tunnel);
      if (set?.size === 0) this.#byLabel.delete(key);
    }
  }
}

function labelKeys(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`);
}
