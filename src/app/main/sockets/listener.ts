import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as HttpsServer } from 'node:https';
import { type AddressInfo, Server, type Socket } from 'node:net';
import { answerProtocolErrors } from '../../../control/api/protocol-errors.ts';
import type { ApiHandler } from '../../../control/api/starting-api.ts';
import { closing, ignoreErrors, type ListenerOwner, listenOnce, listenPer } from '../../../kit/guarded-listeners.ts';
import { serveInTurn } from '../../../kit/http/http1-pipeline.ts';
import { createServer } from '../../../kit/http/node-http.ts';
import { formatListenAddress, isIpv6Only, type ListenAddress } from '../../../kit/net/listen-address.ts';
import { SharedPlaces } from '../../../kit/net/shared-places.ts';
import type { TlsSource } from '../../../proxy/pki/tls-source.ts';
import { type Config, variableOf } from '../../settings/schema.ts';
import { mainErrors } from '../errors.ts';

/** A client that trickles its headers holds a connection no longer than this. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 60_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/**
 * Longer than the idle timeout of common load balancers, so that they close first and no request meets a closing
 * socket.
 */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

export type ListenSetting = Extract<keyof Config, `${string}_listen`>;
const FIRST_OPEN_PORT = 1024;

interface ListenerOptions {
  readonly setting: ListenSetting;
  readonly address: ListenAddress;
  /** Called for each request: the API replaces its placeholder once it is ready. */
  readonly currentApi: () => ApiHandler;
  readonly tls: TlsSource | null;
  /**
   * Further connections are closed at once: their number is no reason for the edge to have none. An address gets half
   * of what others leave.
   */
  readonly maxConnections?: number;
  /** Opens the address in another way, such as on a socket that exists already. */
  readonly open?: (server: Server) => Promise<ListenAddress>;
}

interface Listener extends DrainingServer {
  /** With the actual port. */
  readonly address: ListenAddress;
}

export async function openListener(given: ListenerOptions): Promise<Listener> {
  const { setting, address, currentApi, tls, maxConnections, open } = given;
  const options = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // The API rejects a request without Host itself: Node's response has no body.
    requireHostHeader: false,
  };
  const server =
    tls === null
      ? createServer(options)
      : createTlsServer({
          ...options,
          ...tls.current,
          SNICallback: (name, done) => done(null, tls.contextFor(name)),
          minVersion: 'TLSv1.2',
          handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
        });
  if (maxConnections !== undefined) {
    server.maxConnections = maxConnections;
    shareAmongAddresses(server, new SharedPlaces(maxConnections));
  }
  // Registered first: a handler that responds immediately must already be counted.
  const draining = drainingServer(server);
  answerProtocolErrors(server, () => currentApi().protocolErrors);
  const ownerOf = ({ socket }: IncomingMessage): ListenerOwner => closing(socket, 'API');
  serveInTurn(server, ownerOf, (request, response) => currentApi().handle(request, response));
  tls?.onChange((pair) => (server as HttpsServer).setSecureContext({ ...pair, minVersion: 'TLSv1.2' }));

  const opened = await (open?.(server) ?? listenOn(server, setting, address));
  return {
    address: opened,
    get connectionCount() {
      return draining.connectionCount;
    },
    drain: (timeoutMs, lingerMs) => draining.drain(timeoutMs, lingerMs),
  };
}

/**
 * Opens the address, or names the setting to change. Returns the actual port. `all`: the addresses of a setting that
 * has several.
 */
export async function listenOn(
  server: Server,
  setting: ListenSetting,
  address: ListenAddress,
  all: readonly ListenAddress[] = [address],
): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    const owner: ListenerOwner = { contain: reject };
    listenOnce(server, 'error', owner, (cause: Error) => reject(listenError(setting, address, cause)));
    server.listen({ host: address.host, port: address.port, ipv6Only: isIpv6Only(address, all) }, resolve);
  });
  server.removeAllListeners('error');
  // A connection that could not be accepted, for example for lack of file descriptors, is no reason to stop: the next
  // one may be.
  ignoreErrors(server);
  const { port } = server.address() as AddressInfo;
  return { host: address.host, port };
}

function shareAmongAddresses(server: Server, places: SharedPlaces): void {
  const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'API');
  listenPer(server, 'connection', ownerOf, (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    if (places.isShareUsed(remoteAddress)) {
      socket.destroy();
      return;
    }
    const place = places.enter(remoteAddress);
    listenOnce(socket, 'close', ownerOf(socket), () => places.leave(place));
  });
}

/** Linux reserves the ports below 1024; root is the wrong answer. */
function noPermission(port: number): string {
  const reason = `this user has no permission to open port ${port}`;
  if (port >= FIRST_OPEN_PORT) return reason;
  return `${reason}, which requires the capability CAP_NET_BIND_SERVICE. The unit of "postern service install" has it; without systemd, use "setcap cap_net_bind_service=+ep" on the executable, or let a load balancer forward to a higher port`;
}

function listenError(setting: ListenSetting, address: ListenAddress, cause: Error): Error {
  const code = 'code' in cause ? String(cause.code) : cause.message;
  const reasons: Record<string, string> = {
    EADDRINUSE: `port ${address.port} is already in use`,
    EADDRNOTAVAIL: `the address ${address.host} does not belong to this machine`,
    EAFNOSUPPORT: `this machine does not support the kind of address ${address.host}`,
    ENOTFOUND: `the name ${address.host} does not resolve`,
    EACCES: noPermission(address.port),
  };
  const reason = reasons[code] ?? `it failed with ${code}`;
  const message = `cannot listen on ${formatListenAddress(address)}: ${reason}. Set another address with ${setting} (${variableOf(setting)})`;
  return mainErrors.create('ERR_POSTERN_LISTEN', message, { cause });
}

interface Connection {
  /**
   * The accepted socket, and after the first request that request's socket, which knows about data still to be
   * encrypted and sent.
   */
  socket: Socket;
  requests: number;
  /** The response to the latest request. */
  response: ServerResponse | null;
  /** The connection's last response asks the client to send the next request elsewhere. */
  isTold: boolean;
}

interface DrainingServer {
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
        if (isLingering) Server.prototype.close.call(server, onClosed);
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
