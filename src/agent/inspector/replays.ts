import type { AgentTunnel } from '../handle.ts';
import type { ExchangeStore } from './exchange-store.ts';
import { InspectorRefusal } from './inspector-refusal.ts';
import type { KeptExchange } from './kept-exchange.ts';
import type { InspectorOptions } from './options.ts';
import type { ReplayOrder } from './replay-body.ts';
import { replayRequest } from './replay-request.ts';
import { sendReplay } from './send-replay.ts';

const MAX_AT_ONCE = 16;

/** Sends requests again to the local service. Each replay is stored like a request that came through the tunnel. */
export class Replays {
  readonly #store: ExchangeStore;
  readonly #options: Pick<InspectorOptions, 'tunnels'>;
  readonly #underWay = new Set<() => void>();

  constructor(store: ExchangeStore, options: Pick<InspectorOptions, 'tunnels'>) {
    this.#store = store;
    this.#options = options;
  }

  /** Returns the started exchange immediately. Throws `InspectorRefusal`. */
  start({ id, tunnelName, edit }: ReplayOrder): KeptExchange {
    const original = this.#store.get(id);
    if (original === null) throw new InspectorRefusal(404, 'not_found', 'this request is not stored, or no longer');
    const tunnel = this.#tunnel(tunnelName ?? original.request.tunnel.name);
    const request = replayRequest(original, edit);
    if (this.#underWay.size >= MAX_AT_ONCE) {
      throw new InspectorRefusal(429, 'too_many', `${MAX_AT_ONCE} replays are in progress: wait for one to end`);
    }
    const { authority } = original.request;
    const { method, target, headers, body } = request;
    const observed = { tunnel, method, target, authority, headers, contentLength: body.length };
    const exchange = this.#store.begin(observed, original.id);
    let cancel: (() => void) | null = null;
    const observer = {
      onRequestData: (chunk: Buffer) => exchange.onRequestData(chunk),
      onResponseHead: (status: number, list: readonly string[]) => exchange.onResponseHead(status, list),
      onResponseData: (chunk: Buffer) => exchange.onResponseData(chunk),
      onEnd: (problem: string | null) => {
        exchange.onEnd(problem);
        if (cancel !== null) this.#underWay.delete(cancel);
      },
    };
    const { spec } = tunnel;
    // The first of several replicas.
    const forwardsTo = tunnel.forwardsTo.replace(/,? .*$/, '');
    cancel = sendReplay({ forwardsTo, publicHost: authority, spec }, request, observer);
    if (!exchange.isOver) this.#underWay.add(cancel);
    return exchange;
  }

  close(): void {
    for (const cancel of [...this.#underWay]) cancel();
  }

  #tunnel(name: string): AgentTunnel {
    const tunnel = this.#options.tunnels().find((one) => one.name === name);
    if (tunnel === undefined) throw new InspectorRefusal(404, 'no_tunnel', `this agent has no tunnel "${name}"`);
    if (tunnel.proto === 'tcp' || tunnel.proto === 'tls') {
      throw new InspectorRefusal(409, 'not_http', `the tunnel "${name}" carries connections, not requests`);
    }
    return tunnel;
  }
}
