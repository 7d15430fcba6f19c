import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { type AgentHandle, type AgentOptions, startAgent } from '../../../src/tunnel/agent/index.ts';
import { DEFAULT_TIMINGS } from '../../../src/tunnel/agent/timings.ts';
import { FakeGateway, type FakeGatewayOptions } from './fake-gateway.ts';

/** Short, so that tests do not wait. */
export const QUICK = {
  ...DEFAULT_TIMINGS,
  backoffBaseMs: 20,
  backoffMaxMs: 100,
  stableAfterMs: 0,
  stableBeforeDrainMs: 0,
  closeTimeoutMs: 3_000,
  moveDelayMs: 10,
};

export type StartedAgent = AgentHandle & { readonly ready: Promise<void> };

export async function fakeGateway(t: TestContext, options: FakeGatewayOptions = {}): Promise<FakeGateway> {
  const gateway = await FakeGateway.start(options);
  t.after(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

export function agentFor(t: TestContext, gateway: FakeGateway, options: Partial<AgentOptions>): StartedAgent {
  const agent = startAgent({
    serverAddr: gateway.addr,
    servername: 'gateway.test',
    ca: gateway.ca,
    authtoken: 'token',
    tunnels: [],
    timings: QUICK,
    ...options,
  });
  t.after(() => agent.close());
  return agent;
}

/** A local HTTP/1.1 service; returns its port. */
export async function localService(
  t: TestContext,
  handle: RequestListener,
): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer(handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    if (server.listening) await once(server, 'close');
  });
  return { port: (server.address() as AddressInfo).port, server };
}

export async function localTcp(t: TestContext, handle: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    handle(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

/** An agent with one https tunnel to a local service, and a way to send it requests. */
export async function httpWorld(t: TestContext, handle: RequestListener, options: Partial<AgentOptions> = {}) {
  const gateway = await fakeGateway(t);
  const { port, server } = await localService(t, handle);
  const agent = agentFor(t, gateway, { tunnels: [{ proto: 'https', addr: `127.0.0.1:${port}` }], ...options });
  await agent.ready;
  const tunnel = agent.tunnels[0]?.id ?? '';
  return { gateway, agent, tunnel, port, server, connection: await gateway.connection(0) };
}
