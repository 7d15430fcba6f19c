import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { ignoreErrors, listen, reporting } from '../../../kit/guarded-listeners.ts';
import type { OnlineTunnels } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import { HopWebSockets, receiveHops, receiveWorkersRequests } from '../../../tunnel/nodes/hop/receive-hops.ts';
import { ServedFeeds } from '../../../tunnel/nodes/links/feeds.ts';
import { IncomingLink, type Served } from '../../../tunnel/nodes/links/incoming-link.ts';
import { BETWEEN_THREADS } from '../../../tunnel/nodes/links/peer-links.ts';
import { ServedCalls } from '../../../tunnel/nodes/links/served-calls.ts';

/**
 * Two ends of one connection, of which the second can be handed to another thread. Over TCP on loopback, because the
 * runtime hands over no other kind of socket.
 */
export async function socketPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ noDelay: true, pauseOnConnect: true });
  const accepted: Socket[] = [];
  listen(server, 'connection', reporting('worker link'), (socket: Socket) => accepted.push(ignoreErrors(socket)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const own = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
    await once(own, 'connect');
    for (;;) {
      // Another program of this machine may have connected first.
      const theirs = accepted.find(({ remotePort }) => remotePort === own.localPort);
      for (const socket of accepted.splice(0)) if (socket !== theirs) socket.destroy();
      if (theirs !== undefined) return [own, theirs];
      await once(server, 'connection');
    }
  } finally {
    server.close();
  }
}

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
