import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:tls';
import { systemClock } from '../../../src/kit/clock.ts';
import type { PresenceStore } from '../../../src/store/store.ts';
import { type AgentOptions, startAgent } from '../../../src/tunnel/agent/index.ts';
import { Gateway } from '../../../src/tunnel/gateway/gateway.ts';
import { OnlineTunnelTable } from '../../../src/tunnel/gateway/online-tunnel-table.ts';
import type { GatewayPorts } from '../../../src/tunnel/gateway/ports.ts';
import { ALPN } from '../../../src/tunnel/protocol/protocol.ts';
import { gatewayCertificate, testAuthority } from '../../agent/support/fake-gateway.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { QUICK_TRIES } from './fault-world.ts';

const nothing = (): Promise<void> => Promise.resolve();

export const EMPTY_STORE: PresenceStore = {
  put: nothing,
  renew: nothing,
  remove: nothing,
  removeByCredential: () => Promise.resolve([]),
  removeOtherBoots: nothing,
  onReset: () => () => {},
  get: () => Promise.resolve(null),
  list: () => Promise.resolve([]),
};

export interface LoneGateway {
  readonly gateway: Gateway;
  readonly table: OnlineTunnelTable;
  readonly errors: string[];
  readonly address: string;
  /** Drops every agent connection. */
  readonly cut: () => void;
  /** Accepts no more. */
  readonly close: () => void;
  readonly agent: (options: Partial<AgentOptions>) => ReturnType<typeof startAgent>;
}

/** The server's end without the server: its dependencies fail as the test requests. */
export async function loneGateway(test: Cleanup, ports: Partial<GatewayPorts>): Promise<LoneGateway> {
  const { certificatePem: cert, keyPem: key } = await gatewayCertificate();
  const ca = (await testAuthority()).certificatePem;
  const table = new OnlineTunnelTable();
  const errors: string[] = [];
  let lastId = 0;
  const gateway = new Gateway({
    clock: systemClock,
    presence: EMPTY_STORE,
    bootId: 'nd_1',
    region: 'test',
    domain: 'gateway.test',
    credentials: {
      isCurrent: () => true,
      find: () => ({ id: 'cr_1', acl: [] }),
      get: () => ({ acl: [] }),
      refresh: () => Promise.resolve(),
      onChange: () => () => {},
    },
    invitations: { redeem: () => Promise.resolve(null) },
    table,
    endpoints: {
      isCoveredByEdge: () => false,
      publish: ({ proto, host }) =>
        Promise.resolve({ ok: true, publicUrl: `${proto}://${host}`, hostport: `${host}:443` }),
      withdraw: () => {},
    },
    log: { info: () => {}, warn: () => {}, error: (_fields, message) => errors.push(message) },
    newId: (prefix) => {
      lastId += 1;
      return `${prefix}_${lastId}`;
    },
    events: {
      sessionStarted: () => {},
      sessionStopped: () => {},
      tunnelStarted: () => {},
      tunnelStopped: () => {},
      sessionTaken: () => {},
      sessionGiven: () => {},
    },
    ...ports,
  });
  const sockets = new Set<Socket>();
  const server = createServer({ cert, key, ALPNProtocols: [ALPN] }, (socket) => {
    sockets.add(socket.on('error', () => {}));
    gateway.accept(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(async () => {
    await gateway.drain(0);
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    gateway,
    table,
    errors,
    address,
    close: () => server.close(),
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    agent: (options) => {
      const agent = startAgent({
        serverAddr: address,
        servername: 'gateway.test',
        ca,
        authtoken: 'token',
        tunnels: [],
        timings: QUICK_TRIES,
        ...options,
      });
      test.after(() => agent.close());
      return agent;
    },
  };
}
