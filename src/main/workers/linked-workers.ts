import type { Socket } from 'node:net';
import type { OnlineTunnels } from '../../edge/tunnels/online-tunnels.ts';
import { HopWebSockets } from '../../nodes/hop/hop-web-sockets.ts';
import { receiveHops, receiveWorkersRequests } from '../../nodes/hop/receive-hops.ts';
import { ServedFeeds } from '../../nodes/links/feed-followers.ts';
import { IncomingLink, type Served } from '../../nodes/links/incoming-link.ts';
import { BETWEEN_THREADS } from '../../nodes/links/peer-links.ts';
import { ServedCalls } from '../../nodes/links/served-calls.ts';
import { socketPair } from './socket-pair.ts';

/** The main thread's end of the connections to workers: it serves streams for agents, as for other nodes. */
export class LinkedWorkers {
  readonly #served: Served;
  readonly #webSockets = new HopWebSockets();
  readonly #links = new Set<IncomingLink>();

  constructor(tunnels: OnlineTunnels, onProblem: (why: string) => void) {
    this.#served = {
      calls: new ServedCalls(() => {}),
      feeds: new ServedFeeds(),
      streams: receiveHops(tunnels, this.#webSockets, { isForWorker: true }),
      requests: receiveWorkersRequests(tunnels),
      onViolation: (worker, why) => onProblem(`${worker}: ${why}`),
    };
  }

  /** Returns the worker's end. */
  async link(index: number): Promise<Socket> {
    const [own, theirs] = await socketPair();
    const onClosed = (link: IncomingLink): void => void this.#links.delete(link);
    this.#links.add(new IncomingLink(own, `worker ${index}`, this.#served, onClosed, BETWEEN_THREADS));
    return theirs;
  }

  close(): void {
    for (const link of this.#links) link.fail();
  }
}
