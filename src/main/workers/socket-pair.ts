import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { ignoreErrors, listen, reporting } from '../../lib/guarded-listeners.ts';

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
