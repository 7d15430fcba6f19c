import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface Relay {
  readonly addr: string;
  /** Like a NAT that forgets its mappings: open connections carry nothing, and neither end is notified. */
  freeze(): void;
}

/** A wire that can be broken without either end noticing. A function chooses the target of each connection. */
export async function startRelay(t: TestContext, target: string | (() => string)): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const [host, port] = (typeof target === 'string' ? target : target()).split(':');
    const far = connect(Number(port), host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => {}).once('close', () => sockets.delete(from));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return {
    addr: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}
