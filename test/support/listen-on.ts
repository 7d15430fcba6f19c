import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Cleanup } from './cleanup.ts';

/** Opens a server on a free port, and closes it with its connections after the test. */
export async function listenOn(test: Cleanup, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
