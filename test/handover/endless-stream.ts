import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { HandoverWorld } from './handover-world.ts';

/** A response that does not end by itself, through an edge of its own. */
export async function endlessStream(
  t: TestContext,
  world: HandoverWorld,
): Promise<{ edge: string; cut: Promise<void> }> {
  const open = new Set<ServerResponse>();
  const upstream = createServer((_request, response) => {
    open.add(response);
    response.write('begin');
  });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  const { host, edge } = await world.createEdge(`127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  const sent = request({
    host: '127.0.0.1',
    port: world.edgePort,
    servername: host,
    ca: [...world.ca],
    headers: { host },
    agent: false,
  }).end();
  t.after(() => sent.destroy());
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => {}).resume();
  return { edge, cut: new Promise((resolve) => response.once('close', () => resolve())) };
}
