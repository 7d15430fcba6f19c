import type { Socket } from 'node:net';
import { createServer, type SecureContext, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenPer,
  reporting,
} from '../../kit/guarded-listeners.ts';
import { type ArrivingClients, Handshakes } from '../../kit/net/arriving-clients.ts';
import { ALPN } from '../protocol/protocol.ts';

const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Handshakes in progress, in all threads. */
const MAX_HANDSHAKES = 2_000;

interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface AgentHandshakesOptions {
  readonly clients: ArrivingClients;
  readonly tls: Pair;
  /** Undefined: `tls` is presented. */
  readonly contextFor: (serverName: string) => SecureContext | undefined;
  /** Threads that share the limit. */
  readonly threads: number;
  readonly log: { debug(fields: object, message: string): void };
  readonly onAgent: (socket: TLSSocket, remoteAddress: string) => void;
}

/** The first part of agents' connections: the header of a proxy, then TLS. */
export class AgentHandshakes {
  readonly #clients: ArrivingClients;
  readonly #handshakes: Handshakes;
  /** The server never listens: a proxy's header comes before TLS. */
  readonly #server: Server;

  constructor({ clients, tls, contextFor, threads, log, onAgent }: AgentHandshakesOptions) {
    this.#clients = clients;
    const handshakes = new Handshakes(Math.ceil(MAX_HANDSHAKES / threads));
    this.#handshakes = handshakes;
    const options: TlsOptions = {
      minVersion: 'TLSv1.2',
      ALPNProtocols: [ALPN],
      ...tls,
      SNICallback: (name, done) => done(null, contextFor(name)),
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    };
    this.#server = createServer(options);
    listenPer(this.#server, 'secureConnection', ownerOf, (socket: TLSSocket) => {
      const address = handshakes.ended(socket);
      ignoreErrors(socket);
      if (address !== null && socket.alpnProtocol === ALPN) onAgent(socket, address);
      else socket.destroy();
    });
    listen(this.#server, 'tlsClientError', reporting('tunnel listener'), (error: Error, socket: TLSSocket) => {
      log.debug({ err: error, ip: handshakes.ended(socket) }, 'TLS handshake with an agent failed');
      socket.destroy();
    });
  }

  accept(socket: Socket): void {
    this.#clients.admit(socket, (client) => {
      this.#handshakes.began(socket, client.address);
      this.#server.emit('connection', socket);
    });
  }

  /** For handshakes from now on. */
  use(tls: Pair): void {
    this.#server.setSecureContext({ minVersion: 'TLSv1.2', ...tls });
  }

  /** Closes connections that wait for a proxy's header. */
  close(): void {
    this.#clients.close();
  }
}

export function ownerOf(socket: Socket): ListenerOwner {
  return closing(socket, 'tunnel listener');
}
