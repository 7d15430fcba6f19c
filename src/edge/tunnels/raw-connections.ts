import type { Socket } from 'node:net';
import { until } from '../../lib/async/waiting.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ArrivedClient } from '../../lib/net/arriving-clients.ts';
import { formatListenAddress } from '../../lib/net/listen-address.ts';
import type { RawConnectionFacts } from '../../telemetry/traffic-facts.ts';
import { awaitedTunnel } from './awaited-tunnel.ts';
import type { OnlineTunnels } from './online-tunnels.ts';
import { RawConnection } from './raw-connection.ts';

export interface RawEndpoint {
  readonly endpointId: string;
  readonly tunnelId: string;
  readonly proto: 'tcp' | 'tls';
  isAddressAllowed(address: string): boolean;
}

export interface RawConnectionsOptions {
  readonly tunnels: OnlineTunnels;
  readonly mayServe: () => boolean;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  onOpened(proto: 'tcp' | 'tls'): void;
  onClosed(facts: RawConnectionFacts): void;
}

/** Connections forwarded undecrypted, by endpoint. */
export class RawConnections {
  readonly #options: RawConnectionsOptions;
  readonly #byEndpoint = new Map<string, Set<RawConnection>>();
  #count = 0;

  constructor(options: RawConnectionsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  carry(endpoint: RawEndpoint, socket: Socket, { address, port, headerBytes }: ArrivedClient): void {
    const { endpointId, tunnelId, proto } = endpoint;
    const localAddress = `${socket.localAddress}:${socket.localPort}`;
    const { tunnels, clock, connectTimeoutMs } = this.#options;
    const clientAddress = formatListenAddress({ host: address, port });
    const startedAtMs = clock.nowMs();
    const startedAt = performance.now();
    this.#count += 1;
    this.#options.onOpened(proto);
    const tunnel = tunnels.get(tunnelId) ?? awaitedTunnel(tunnelId, tunnels) ?? undefined;
    const connection = new RawConnection({
      socket,
      clientAddress,
      visitor: address,
      tunnel,
      mayServe: this.#options.mayServe,
      connectTimeoutMs,
      onOver: (outcome) => {
        this.#remove(endpointId, connection);
        const seconds = (performance.now() - startedAt) / 1000;
        const bytesIn = Math.max(0, socket.bytesRead - headerBytes);
        const bytesOut = socket.bytesWritten;
        const facts = {
          ...{ endpointId, tunnelId, tunnelNode: connection.tunnelNode, proto, clientAddress, localAddress },
          ...{ startedAtMs, seconds, bytesIn, bytesOut, outcome },
        };
        if (connection.wasCarried) tunnel?.use.ended(bytesIn, bytesOut);
        this.#options.onClosed(facts);
      },
    });
    const ofEndpoint = this.#byEndpoint.get(endpointId);
    if (ofEndpoint === undefined) this.#byEndpoint.set(endpointId, new Set([connection]));
    else ofEndpoint.add(connection);
    try {
      if (endpoint.isAddressAllowed(address)) connection.start();
      else connection.cut('address');
    } catch (error) {
      connection.contain(error);
    }
  }

  cutAll(endpointId: string, outcome: string): void {
    for (const connection of this.#byEndpoint.get(endpointId) ?? []) connection.cut(outcome);
  }

  /** Ends with the last connection, or cuts the rest at the deadline. */
  async drain(leftMs: () => number): Promise<void> {
    await until(() => this.#count === 0, leftMs());
    for (const endpointId of [...this.#byEndpoint.keys()]) this.cutAll(endpointId, 'draining');
  }

  #remove(endpointId: string, connection: RawConnection): void {
    this.#count -= 1;
    const ofEndpoint = this.#byEndpoint.get(endpointId);
    ofEndpoint?.delete(connection);
    if (ofEndpoint?.size === 0) this.#byEndpoint.delete(endpointId);
  }
}
