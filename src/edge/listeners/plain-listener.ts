import { createServer, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { type DrainingServer, drainingServer } from '../../lib/draining-server.ts';
import type { ListenAddress } from '../../lib/listen-address.ts';
import { AddressCounter } from '../tls/address-counter.ts';
import type { OpenServer } from './edge-listener.ts';

/** Nothing that is served here needs more. */
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADER_COUNT = 100;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 5000;
/** How often the runtime looks for requests that are late. */
const CHECK_EVERY_MS = 2000;

export interface PlainListenerOptions {
  readonly open: OpenServer;
  readonly handle: RequestListener;
  /** 0: no limit. */
  readonly maxConnectionsPerAddress: number;
  readonly onProblem: (error: Error) => void;
}

export interface PlainListener extends DrainingServer {
  readonly address: ListenAddress;
}

/** The plain HTTP side of the edge. What it answers is its handler's matter. */
export async function openPlainListener(options: PlainListenerOptions): Promise<PlainListener> {
  const { open, handle, maxConnectionsPerAddress } = options;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
  });
  server.maxHeadersCount = MAX_HEADER_COUNT;
  // A client that connects and never says a word.
  server.timeout = REQUEST_TIMEOUT_MS;
  const addresses = new AddressCounter({ maxTotal: 0, maxPerAddress: maxConnectionsPerAddress });
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || addresses.enter(remoteAddress) !== null) socket.destroy();
    else socket.once('close', () => addresses.leave(remoteAddress));
  });
  const draining = drainingServer(server);
  server.on('request', handle);
  // No body is read here: who asks first is not told to go on.
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  const address = await open(server);
  server.on('error', (error) => options.onProblem(error));
  return {
    address,
    get connectionCount() {
      return draining.connectionCount;
    },
    drain: (timeoutMs) => draining.drain(timeoutMs),
  };
}
