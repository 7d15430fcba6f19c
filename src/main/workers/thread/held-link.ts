import type { Socket } from 'node:net';
import type { OnlineTunnels } from '../../../edge/tunnels/online-tunnels.ts';
import { HopWebSockets } from '../../../nodes/hop/hop-web-sockets.ts';
import { receiveChannelHops, receiveHops } from '../../../nodes/hop/receive-hops.ts';
import { ServedFeeds } from '../../../nodes/links/feed-followers.ts';
import { IncomingLink } from '../../../nodes/links/incoming-link.ts';
import { BETWEEN_THREADS } from '../../../nodes/links/peer-links.ts';
import { ServedCalls } from '../../../nodes/links/served-calls.ts';

/** The worker's end of a connection on which the main thread opens streams for agents of this worker. */
export class HeldLink {
  readonly #link: IncomingLink;

  constructor(socket: Socket, held: OnlineTunnels, onViolation: (why: string) => void) {
    const served = {
      calls: new ServedCalls(() => {}),
      feeds: new ServedFeeds(),
      streams: receiveHops(held, new HopWebSockets()),
      requests: receiveChannelHops(held),
      onViolation: (_main: string, why: string) => onViolation(why),
    };
    // A socket that was handed over does not read by itself, and HTTP/2 takes it as it is.
    socket.resume();
    this.#link = new IncomingLink(socket, 'main', served, () => {}, BETWEEN_THREADS);
  }

  close(): void {
    this.#link.fail();
  }
}
