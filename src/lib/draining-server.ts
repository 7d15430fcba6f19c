import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { closing, type ListenerOwner, listenOnce, listenPer } from './guarded-listeners.ts';

interface Connection {
  /**
   * The accepted socket, and after the first request that request's socket, which knows about data still to be
   * encrypted and sent.
   */
  socket: Socket;
  requests: number;
}

export interface DrainingServer {
  readonly connectionCount: number;
  /**
   * Stops accepting, lets requests in flight finish for up to `timeoutMs`, then closes the rest. Resolves when all
   * connections are closed.
   */
  drain(timeoutMs: number): Promise<void>;
}

/**
 * Counts requests per connection. `server.close()` alone waits for connections that have sent nothing yet, and for
 * those whose TLS handshake never ends: a browser that preconnects would delay every shutdown until the deadline.
 */
export function drainingServer(server: HttpServer | HttpsServer): DrainingServer {
  // Keyed by remote end, because behind TLS the accepted socket and the request's socket are two objects.
  const connections = new Map<string, Connection>();
  let isDraining = false;
  let drained: Promise<void> | null = null;

  const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'HTTP server');
  listenPer(server, 'connection', ownerOf, (socket: Socket) => {
    const key = remoteEnd(socket);
    connections.set(key, { socket, requests: 0 });
    listenOnce(socket, 'close', ownerOf(socket), () => connections.delete(key));
  });
  const ownerOfRequest = ({ socket }: IncomingMessage): ListenerOwner => ownerOf(socket);
  listenPer(server, 'request', ownerOfRequest, (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(remoteEnd(request.socket));
    if (connection === undefined) return;
    connection.requests += 1;
    connection.socket = request.socket;
    // Tells the client to send its next request elsewhere.
    if (isDraining && !response.headersSent) response.setHeader('Connection', 'close');
    listenOnce(response, 'close', ownerOf(request.socket), () => {
      connection.requests -= 1;
      if (isDraining) closeIfIdle(connection);
    });
  });

  return {
    get connectionCount() {
      return connections.size;
    },
    drain: (timeoutMs) => {
      drained ??= new Promise((resolve) => {
        isDraining = true;
        const deadline = setTimeout(() => {
          for (const { socket } of connections.values()) socket.destroy();
        }, timeoutMs);
        server.close(() => {
          clearTimeout(deadline);
          resolve();
        });
        for (const connection of connections.values()) closeIfIdle(connection);
      });
      return drained;
    },
  };
}

/** `destroySoon` flushes first: the response has been written to the socket, but not yet to the network. */
function closeIfIdle({ socket, requests }: Connection): void {
  if (requests === 0) socket.destroySoon();
}

function remoteEnd(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}`;
}
