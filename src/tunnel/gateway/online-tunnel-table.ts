import type { OnlineTunnel, OnlineTunnels } from '../../proxy/edge/tunnels/online-tunnels.ts';
import { LabelIndex } from '../protocol/label-index.ts';
import type { AgentSession, BoundTunnel } from './agent-session.ts';

/** Tunnels that can receive traffic now. */
export class OnlineTunnelTable implements OnlineTunnels {
  readonly #byId = new Map<string, BoundTunnel>();
  readonly #byLabel = new LabelIndex<BoundTunnel>();
  #generation = 0;

  get generation(): number {
    return this.#generation;
  }

  get size(): number {
    return this.#byId.size;
  }

  all(): Iterable<BoundTunnel> {
    return this.#byId.values();
  }

  get(tunnelId: string): OnlineTunnel | undefined {
    return this.#byId.get(tunnelId);
  }

  matching(labels: Readonly<Record<string, string>>): readonly OnlineTunnel[] {
    return this.#byLabel.matching(labels);
  }

  add(tunnel: BoundTunnel): void {
    this.#generation += 1;
    this.#byId.set(tunnel.id, tunnel);
    this.#byLabel.add(tunnel, tunnel.labels);
  }

  remove(tunnel: BoundTunnel): void {
    if (this.#byId.get(tunnel.id) !== tunnel) return;
    this.#generation += 1;
    this.#byId.delete(tunnel.id);
    this.#byLabel.remove(tunnel, tunnel.labels);
  }
}

/** Tunnels that receive traffic, by public address or labels: an agent keeps these when it moves to another process. */
export function onlineKeys(sessions: Iterable<AgentSession>): readonly string[] {
  return [...sessions].flatMap((session) =>
    [...session.tunnels.values()]
      .filter(({ isListed }) => isListed)
      .map(({ publicUrl, labels }) => publicUrl ?? JSON.stringify(labels)),
  );
}
