import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Cleanup } from '../cleanup.ts';

/** A port that is known before the ports of the nodes behind it. Connections go to the nodes in turn. */
export interface Relay {
  readonly port: number;
  readonly targets: number[];
  /** Accepted connections. */
  readonly accepted: () => number;
}

export async function startRelay(test: Cleanup): Promise<Relay> {
  const targets: number[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((client) => {
    const port = targets[accepted % targets.length];
    accepted += 1;
    if (port === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect({ host: '127.0.0.1', port });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, targets, accepted: () => accepted };
}
