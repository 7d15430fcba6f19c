import type { IncomingMessage } from 'node:http';
import { createServer as createTlsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { answerProtocolErrors } from '../../../control/api/protocol-errors.ts';
import type { ApiHandler } from '../../../control/api/starting-api.ts';
import { closing, ignoreErrors, type ListenerOwner, listenOnce, listenPer } from '../../../kit/guarded-listeners.ts';
import { type DrainingServer, drainingServer } from '../../../kit/http/draining-server.ts';
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
/** Longer than the idle timeout of common load balancers, so that they close first and no request meets a closing socket. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

export type ListenSetting = Extract<keyof Config, `${string}_listen`>;
const FIRST_OPEN_PORT = 1024;

export interface ListenerOptions {
  readonly setting: ListenSetting;
  readonly address: ListenAddress;
  /** Called for each request: the API replaces its placeholder once it is ready. */
  readonly currentApi: () => ApiHandler;
  readonly tls: TlsSource | null;
  /**
   * Further connections are closed at once: their number is no reason for the edge to have none. An address gets half of
   * what others leave.
   */
  readonly maxConnections?: number;
  /** Opens the address in another way, such as on a socket that exists already. */
  readonly open?: (server: Server) => Promise<ListenAddress>;
}

export interface Listener extends DrainingServer {
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
