import { once } from 'node:events';
import type { LookupFunction } from 'node:net';
import { type ClientOptions, WebSocket } from 'ws';
import type { EdgeWorld } from '../edge-world.ts';

/** Every name resolves to loopback. */
const toLoopback = ((_name, { all }, done) =>
  all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)) as LookupFunction;

/** An open `ws` WebSocket to the service at this host of an edge. */
export async function openWs(
  edge: EdgeWorld,
  host: string,
  protocols: string[] = [],
  options: ClientOptions = {},
): Promise<WebSocket> {
  const client = new WebSocket(`wss://${host}:${edge.port}/chat?room=1`, protocols, {
    ca: [...edge.ca],
    lookup: toLoopback,
    ...options,
  });
  await once(client, 'open');
  return client;
}

export async function nextWsMessage(client: WebSocket): Promise<{ data: Buffer; isBinary: boolean }> {
  const [data, isBinary] = await once(client, 'message');
  return { data, isBinary };
}
