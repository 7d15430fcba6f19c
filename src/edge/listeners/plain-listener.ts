import type { Socket } from 'node:net';
import { closing, ignoreErrors, listenOnce } from '../../lib/guarded-listeners.ts';
import type { ArrivedClient } from '../../lib/net/arriving-clients.ts';
import type { SharedTally } from '../../lib/process/shared-memory.ts';
import { AddressCounter } from '../tls/address-counter.ts';
import { type EdgeListener, type EdgeListenerOptions, openEdgeListener } from './edge-listener.ts';

export interface PlainListenerOptions extends EdgeListenerOptions {
  /** 0: no limit. */
  readonly maxConnectionsPerAddress: number;
  /** Connections for which there are file descriptors. */
  readonly free?: () => number;
}

/** The TCP side of the plain HTTP edge. */
export function openPlainListener(options: PlainListenerOptions): Promise<EdgeListener> {
  const { maxConnectionsPerAddress, free, onSocket, ...rest } = options;
  return openEdgeListener({ ...rest, onSocket: plainConnections(maxConnectionsPerAddress, onSocket, null, free) });
}

/** TLS counts handshakes; here connections are counted. */
export function plainConnections(
  maxPerAddress: number,
  onSocket: EdgeListenerOptions['onSocket'],
  threads: SharedTally | null = null,
  free?: () => number,
): EdgeListenerOptions['onSocket'] {
  const addresses = new AddressCounter({ maxTotal: 0, maxPerAddress }, threads, free);
  return (socket: Socket, client: ArrivedClient) => {
    // A reset can occur at any time from here on.
    ignoreErrors(socket);
    const { address } = client;
    if (address === '' || addresses.enter(address) !== null) {
      socket.destroy();
      return;
    }
    listenOnce(socket, 'close', closing(socket, 'plain listener'), () => addresses.leave(address));
    onSocket(socket, client);
  };
}
