import { until } from '../../lib/async/until.ts';
import { CLOSE_WITHIN_MS } from '../../lib/http/web-socket-direction.ts';

interface LeavingHop {
  goAway(): void;
  cut(): void;
}

/** WebSockets of other nodes' visitors that pass through this node. */
export class HopWebSockets {
  readonly #open = new Set<LeavingHop>();

  add(hop: LeavingHop): void {
    this.#open.add(hop);
  }

  delete(hop: LeavingHop): void {
    this.#open.delete(hop);
  }

  /** Closes all WebSockets with status 1001, and cuts WebSockets that do not end. */
  async close(): Promise<void> {
    for (const hop of this.#open) hop.goAway();
    await until(() => this.#open.size === 0, CLOSE_WITHIN_MS);
    for (const hop of this.#open) hop.cut();
  }
}
