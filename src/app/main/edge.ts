import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { ignoreErrors } from '../../kit/guarded-listeners.ts';
import { CLOSE_WITHIN_MS } from '../../kit/http/web-sockets.ts';
import { LatePart } from '../../kit/late-part.ts';
import { formatListenAddress, type ListenAddresses } from '../../kit/net/listen-address.ts';
import type { EdgeDrainOptions } from '../../proxy/edge/drain-edge.ts';
import type { Edge } from '../../proxy/edge/edge.ts';
import { type EdgeListener, type OpenServer, openEdgeListener } from '../../proxy/edge/listeners/edge-listener.ts';
import type { EndpointPublisher } from '../../proxy/edge/tunnels/endpoints.ts';
import type { TunnelPorts } from '../../proxy/edge/tunnels/tunnel-traffic.ts';
import { newProblems } from '../../proxy/snapshot/problems.ts';
import type { Snapshots } from '../../proxy/snapshot/snapshots.ts';
import { type EdgeParts, openDataPlane } from './data-plane/data-plane.ts';
import type { ListeningSockets, OpenSocket } from './sockets/listening-sockets.ts';

export interface EdgeDependencies extends Omit<EdgeParts, 'publicPorts' | 'inheritedPort' | 'isLazy'> {
  readonly sockets: ListeningSockets;
}

export interface OpenedEdge {
  readonly https: ListenAddresses;
  readonly http: ListenAddresses;
  readonly snapshots: Snapshots;
  /** Endpoints of agents. */
  readonly endpoints: EndpointPublisher;
  /** The ports of tcp tunnels. */
  tunnelSockets(): readonly OpenSocket[];
  /** Serves visitors from now on, first those who are waiting. */
  admit(): void;
  drain(timeoutMs: number, options?: EdgeDrainOptions): Promise<void>;
  readonly isPassthrough: Edge['isPassthrough'];
}

const SECOND = 1000;

/** The data plane in this thread, with its listeners. */
export async function openEdge(deps: EdgeDependencies): Promise<OpenedEdge> {
  const { own, sockets, logger } = deps;
  await using opening = new AsyncDisposableStack();
  const gate = new StartGate();
  const listeners = new LatePart<Record<'https' | 'http', EdgeListener>>('the listeners of the edge');
  const plane = await openDataPlane(
    {
      ...deps,
      inheritedPort: (port) => sockets.takePort(port),
      publicPorts: () => portsOf(listeners.get()),
    },
    (socket, enter) => gate.pass(socket, enter),
  );
  opening.defer(() => plane.close());
  const { edge, snapshots, visitors } = plane;
  reportNewProblems(snapshots, logger);
  own.setTunnelPorts(edge.tunnelPorts);
  const onProblem = (err: Error): void => logger.error({ err }, 'failed to accept a connection');
  const https = await openEdgeListener({ ...visitors.https, open: openersOf(deps, 'edge_listen'), onProblem });
  opening.defer(() => https.drain(0));
  const http = await openEdgeListener({ ...visitors.http, open: openersOf(deps, 'edge_http_listen'), onProblem });
  listeners.open({ https, http });
  opening.move();
  return {
    https: https.addresses,
    http: http.addresses,
    snapshots,
    endpoints: edge.endpoints,
    tunnelSockets: () => tunnelSocketsOf(edge.tunnelPorts),
    admit: () => gate.open(),
    isPassthrough: (host) => edge.isPassthrough(host),
    drain: async (timeoutMs, how) => {
      gate.close();
      // The listeners stop first, then the edge closes its connections, and the listeners see the last of them close.
      const closedMs = timeoutMs + CLOSE_WITHIN_MS + SECOND;
      const closed = [https, http].map((listener) => listener.drain(closedMs, how?.lingerMs));
      await edge.drain(timeoutMs, how);
      await Promise.all(closed);
      await plane.close();
    },
  };
}

/** Visitors are redirected to the port of the first address of each. */
export function portsOf({ https, http }: Record<'https' | 'http', Pick<EdgeListener, 'addresses'>>) {
  return { https: https.addresses[0].port, http: http.addresses[0].port };
}

export function reportNewProblems(snapshots: Pick<Snapshots, 'onSwap'>, logger: Logger): void {
  snapshots.onSwap((edgeId, now, before) => {
    for (const problem of newProblems(now, before))
      logger.warn({ edge: edgeId, ...problem }, 'a route rejects all traffic');
  });
}

export function tunnelSocketsOf(ports: TunnelPorts): readonly OpenSocket[] {
  return ports.list().map(({ port, server }) => {
    const address = { host: ports.host, port };
    return { name: 'tcp', wanted: formatListenAddress(address), address, server };
  });
}

export function openersOf(
  { config, sockets }: Pick<EdgeDependencies, 'config' | 'sockets'>,
  setting: 'edge_listen' | 'edge_http_listen',
): readonly OpenServer[] {
  const all = config[setting];
  return all.map((address) => (server) => sockets.open(server, setting, address, all));
}

/** As many as a listening socket queues for a slow program, and more than come within seconds. */
const MAX_WAITING = 4_096;

/**
 * Connections of visitors that come while this node does not know yet what the others serve. They wait: without it, the
 * edge would say that there is no such site.
 */
export class StartGate {
  readonly #waiting = new Map<Socket, () => void>();
  #isOpen = false;

  pass(socket: Socket, enter: () => void): void {
    if (this.#isOpen) {
      enter();
      return;
    }
    ignoreErrors(socket);
    if (this.#waiting.size < MAX_WAITING) this.#waiting.set(socket, enter);
    else socket.destroy();
  }

  open(): void {
    this.#isOpen = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [socket, enter] of waiting) if (!socket.destroyed) enter();
  }

  /** The server stops before it has started. */
  close(): void {
    for (const socket of this.#waiting.keys()) socket.destroy();
    this.open();
  }
}
