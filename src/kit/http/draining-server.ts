import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import { closing, type ListenerOwner, listenOnce, listenPer } from '../guarded-listeners.ts';

interface Connection {
  /**
   * The accepted socket, and after the first request that request's socket, which knows about data still to be
   * encrypted and sent.
   */
  socket: Socket;
  requests: number;
  /** The response to the latest request. */
  response: ServerResponse | null;
  /** Its last response asks the client to send the next request elsewhere. */
  isTold: boolean;
}

export interface DrainingServer {
  readonly connectionCount: number;
  /**
   * Stops accepting, lets requests in flight finish for up to `timeoutMs`, then closes the rest. Resolves when all
   * connections are closed. For the first `lingerMs` a connection without a request in flight may still send one, which
   * is answered with `Connection: close`: its client may have sent it already.
   */
  drain(timeoutMs: number, lingerMs?: number): Promise<void>;
}

/**
 * Counts requests per connection. `server.close()` alone waits for connections that have sent nothing yet, and for
 * those whose TLS handshake never ends: a browser that preconnects would delay every shutdown until the deadline.
 */
export function drainingServer(server: HttpServer | HttpsServer): DrainingServer {
  // Keyed by remote end, because behind TLS the accepted socket and the request's socket are two objects.
  const connections = new Map<string, Connection>();
  let isDraining = false;
  let isLingering = false;
  let drained: Promise<void> | null = null;

  const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'HTTP server');
  listenPer(server, 'connection', ownerOf, (socket: Socket) => {
    const key = remoteEnd(socket);
    connections.set(key, { socket, requests: 0, response: null, isTold: false });
    listenOnce(socket, 'close', ownerOf(socket), () => connections.delete(key));
  });
  const ownerOfRequest = ({ socket }: IncomingMessage): ListenerOwner => ownerOf(socket);
  listenPer(server, 'request', ownerOfRequest, (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(remoteEnd(request.socket));
    if (connection === undefined) return;
    connection.requests += 1;
    connection.socket = request.socket;
    connection.response = response;
    if (isDraining) tell(connection);
    listenOnce(response, 'close', ownerOf(request.socket), () => {
      connection.requests -= 1;
      if (isDraining && (!isLingering || connection.isTold)) closeIfIdle(connection);
    });
  });

  return {
    get connectionCount() {
      return connections.size;
    },
    drain: (timeoutMs, lingerMs = 0) => {
      drained ??= new Promise((resolve) => {
        isDraining = true;
        const deadline = setTimeout(() => {
          for (const { socket } of connections.values()) socket.destroy();
        }, timeoutMs);
        const linger = setTimeout(() => {
          isLingering = false;
          for (const connection of connections.values()) closeIfIdle(connection);
        }, lingerMs);
        const onClosed = (): void => {
          clearTimeout(deadline);
          clearTimeout(linger);
          resolve();
        };
        isLingering = lingerMs > 0;
        for (const connection of connections.values()) tell(connection);
        // An HTTP server's own `close` also closes connections that were accepted a moment ago.
        if (isLingering) NetServer.prototype.close.call(server, onClosed);
        else {
          server.close(onClosed);
          for (const connection of connections.values()) closeIfIdle(connection);
        }
      });
      return drained;
    },
  };
}

/** Asks the client to send its next request elsewhere. */
function tell(connection: Connection): void {
  const { response } = connection;
  if (response === null || response.headersSent) return;
  response.setHeader('Connection', 'close');
  connection.isTold = true;
}

/** `destroySoon` flushes first: the response has been written to the socket, but not yet to the network. */
function closeIfIdle({ socket, requests }: Connection): void {
  if (requests === 0) socket.destroySoon();
}

function remoteEnd(socket: Socket): string {
  return `${socket.remoteAddress}|${socket.remotePort}`;
}
