import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { acceptOf, openWebSocket, openWebSocketOverHttp2 } from '../../edge/traffic/web-socket.ts';
import type { Cleanup } from '../cleanup.ts';
import type { EdgeSites } from '../edge-sites.ts';

/** A service of WebSockets that never closes one by itself. */
export interface SilentService {
  readonly address: string;
  /** Both ends of the connection. */
  readonly sockets: readonly Socket[];
}

export async function silentService(cleanup: Cleanup): Promise<SilentService> {
  const services: Socket[] = [];
  const service = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    let received = '';
    const onData = (chunk: Buffer): void => {
      received += chunk.toString('latin1');
      if (!received.includes('\r\n\r\n')) return;
      socket.off('data', onData).resume();
      const key = /^sec-websocket-key: (.*)\r$/im.exec(received)?.[1] ?? '';
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`,
      );
      services.push(socket);
    };
    socket.on('data', onData);
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  cleanup.after(async () => {
    for (const socket of services) socket.destroy();
    service.close();
  });
  return { address: `127.0.0.1:${(service.address() as AddressInfo).port}`, sockets: services };
}

export interface HalfClosedWay {
  readonly name: string;
  readonly host: string;
  readonly edge: EdgeSites;
  readonly service: SilentService;
  /** `edge_idle_timeout` of the edge. */
  readonly idleSeconds: number;
  /** Whether the test of data that flows runs, which takes longer. */
  readonly hasFlow?: boolean;
}

interface Opened {
  readonly client: Duplex;
  readonly serviceEnd: Socket;
}

const CLIENTS: readonly (readonly [name: string, open: (edge: EdgeSites, host: string) => Promise<Duplex>])[] = [
  [
    'HTTP/1.1',
    async (edge, host) => {
      const socket = await edge.connect(host, { allowHalfOpen: true } as object);
      await openWebSocket(socket, host);
      return socket;
    },
  ],
  [
    'HTTP/2',
    async (edge, host) => {
      const session = await edge.http2(host);
      return (await openWebSocketOverHttp2(session, host)).stream;
    },
  ],
];

/** A WebSocket one of whose ends is gone, while the other ignores that its peer has ended. */
export function halfClosedSuite({ name, host, edge, service, idleSeconds, hasFlow }: HalfClosedWay): void {
  suite(`a WebSocket through ${name}`, () => {
    for (const [protocol, open] of CLIENTS) {
      const opened = async (): Promise<Opened> => {
        const client = await open(edge, host);
        // The helper's own end would answer the end of the other side.
        client.removeAllListeners('end');
        return { client, serviceEnd: service.sockets.at(-1) ?? assert.fail('the service has no WebSocket') };
      };

      test(`over ${protocol} is closed if the service ignores that the client has ended`, async () => {
        const { client, serviceEnd } = await opened();
        client.end();
        await closed(client);
        await noticed(serviceEnd);
      });

      test(`over ${protocol} is closed if the client ignores that the service has ended`, async () => {
        const { client, serviceEnd } = await opened();
        serviceEnd.end();
        await closed(serviceEnd);
        await noticed(client);
      });

      if (hasFlow !== true) continue;
      test(`over ${protocol} stays while data flows to the end that still reads`, async () => {
        const { client, serviceEnd } = await opened();
        let received = 0;
        client.on('data', (chunk: Buffer) => {
          received += chunk.length;
        });
        client.end();
        for (let count = 0; count < 12; count += 1) {
          serviceEnd.write('x');
          await sleep(idleSeconds * 200);
        }
        assert.deepEqual([received, serviceEnd.closed], [12, false]);
        serviceEnd.destroy();
      });
    }
  });
}

function closed(side: Duplex): Promise<void> {
  side.on('error', () => {});
  return new Promise((resolve) => {
    if (side.closed) resolve();
    else side.once('close', () => resolve());
  });
}

/** The side has received the end already: only what it writes shows that nobody is there. */
async function noticed(side: Duplex): Promise<void> {
  side.on('error', () => {});
  while (!side.closed) {
    side.write('x');
    await sleep(10);
  }
}
