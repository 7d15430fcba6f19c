import { once } from 'node:events';
import type { LookupFunction } from 'node:net';
import { type ClientOptions, WebSocket } from 'ws';
import type { EdgeClients } from '../edge-clients.ts';

/** An open `ws` WebSocket to the service at this host of an edge. */
export async function openWs(
  edge: EdgeClients,
  host: string,
  protocols: string[] = [],
  options: ClientOptions = {},
): Promise<WebSocket> {
  const client = new WebSocket(`wss://${host}:${edge.port}/chat?room=1`, protocols, {
    ca: [...edge.ca],
    lookup: toAddress(edge.address),
    ...options,
  });
  await once(client, 'open');
  return client;
}

export async function nextWsMessage(client: WebSocket): Promise<{ data: Buffer; isBinary: boolean }> {
  const [data, isBinary] = await once(client, 'message');
  return { data, isBinary };
}

/** Every name resolves to this address. */
function toAddress(address: string): LookupFunction {
  return ((_name, { all }, done) =>
    all === true ? done(null, [{ address, family: 4 }]) : done(null, address, 4)) as LookupFunction;
}
