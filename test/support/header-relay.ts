import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cleanup } from './cleanup.ts';

export interface RelayOptions {
  /** Port on 127.0.0.1. */
  readonly to: number;
  /** The first bytes of each connection. */
  readonly header: string | Buffer;
  /** From which the relay connects. */
  readonly localAddress: string;
  /** `joined`: in one packet with the client's first bytes. `bytes`: one packet per byte. */
  readonly mode?: 'joined' | 'bytes';
}

/** A load balancer that starts each connection with a header. Returns its port. */
export async function headerRelay(test: Cleanup, { to, header, localAddress, mode }: RelayOptions): Promise<number> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).setNoDelay(true);
  };
  const bytes = Buffer.from(header as string, 'latin1');
  const server = createServer({ allowHalfOpen: true }, (near) => {
    track(near);
    const far = track(connect({ host: '127.0.0.1', port: to, localAddress, allowHalfOpen: true }));
    far.on('close', () => near.destroy());
    near.on('close', () => far.destroy());
    far.pipe(near);
    const carry = async (): Promise<void> => {
      if (mode === 'joined') {
        const [first] = (await once(near, 'data')) as [Buffer];
        near.pause();
        far.write(Buffer.concat([bytes, first]));
      } else if (mode === 'bytes') {
        for (const byte of bytes) {
          far.write(Buffer.from([byte]));
          await sleep(1);
        }
      } else far.write(bytes);
      near.pipe(far);
    };
    carry().catch(() => near.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
