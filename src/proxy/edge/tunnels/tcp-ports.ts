import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import {
  attach,
  closing,
  guarded,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenOnce,
  listenPer,
  reporting,
} from '../../../kit/guarded-listeners.ts';
import { type ArrivedClient, type ArrivingClients, peerOf } from '../../../kit/net/arriving-clients.ts';
import type { PortRange } from '../../../kit/net/listen-address.ts';
import { noticeVanished } from '../../../kit/net/sockets.ts';
import { AddressCounter } from '../admission.ts';

export interface TcpPortsOptions {
  readonly range: PortRange;
  /** 0: no limit. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** Connections for which there are file descriptors. */
  readonly free?: (() => number) | undefined;
  readonly random: () => number;
  /** Absent: every client connects directly. */
  readonly clients?: ArrivingClients;
  /** A connection could not be accepted, mostly for lack of file descriptors. */
  readonly onProblem: (error: Error) => void;
  /** The listening socket that the process before this one had for the port. */
  readonly inherited?: ((port: number) => number | null) | undefined;
}

/** `range`: outside the configured range. `taken`: in use. `none`: none is free. Otherwise the error of the system. */
export type NoPort = 'range' | 'taken' | 'none' | `error ${string}`;

export interface OpenPort {
  readonly port: number;
  /** Stops accepting connections immediately. */
  close(): void;
}

type OnSocket = (socket: Socket, client: ArrivedClient) => void;

/** The ports for tcp tunnels: one listener per tunnel while it exists. */
export class TcpPorts {
  readonly #options: TcpPortsOptions;
  readonly #held = new Set<number>();
  readonly #servers = new Map<Server, number>();
  #isClosed = false;
  readonly #addresses: AddressCounter;

  constructor(options: TcpPortsOptions) {
    this.#options = options;
    const { maxConnections: maxTotal, maxConnectionsPerAddress: maxPerAddress } = options;
    this.#addresses = new AddressCounter({ maxTotal, maxPerAddress }, null, options.free);
  }

  /** Whether a tunnel has this port, even before it listens. */
  has(port: number): boolean {
    return this.#held.has(port);
  }

  /** Accepts no more connections on any port. */
  close(): void {
    this.#isClosed = true;
    this.#options.clients?.close();
    for (const server of this.#servers.keys()) server.close();
    this.#servers.clear();
  }

  /** The open ports, for a process that takes over. */
  list(): readonly { readonly port: number; readonly server: Server }[] {
    return [...this.#servers].map(([server, port]) => ({ port, server }));
  }

  async open(wanted: number | null, onSocket: OnSocket): Promise<OpenPort | NoPort> {
    const { first, last } = this.#options.range;
    if (this.#isClosed) return 'none';
    if (wanted !== null) {
      if (wanted < first || wanted > last) return 'range';
      return this.#tryOpen(wanted, onSocket);
    }
    // Not always the lowest: a client that still dials the port of a closed tunnel should not reach the next one.
    const count = last - first + 1;
    const start = Math.floor(this.#options.random() * count);
    let why: NoPort = 'none';
    for (let step = 0; step < count; step += 1) {
      const opened = await this.#tryOpen(first + ((start + step) % count), onSocket);
      if (typeof opened !== 'string') return opened;
      if (opened !== 'taken') why = opened;
    }
    return why;
  }

  async #tryOpen(port: number, onSocket: OnSocket): Promise<OpenPort | NoPort> {
    if (this.#held.has(port)) return 'taken';
    this.#held.add(port);
    const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
    const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'tcp port');
    listenPer(server, 'connection', ownerOf, (socket: Socket) => {
      const { clients } = this.#options;
      if (clients === undefined) this.#admit(socket, peerOf(socket), onSocket);
      else clients.admit(socket, (client) => this.#admit(socket, client, onSocket));
    });
    const fd = this.#options.inherited?.(port) ?? null;
    const failure = await listening(server, fd === null ? { host: this.#options.range.host, port } : { fd });
    if (failure !== null) {
      this.#held.delete(port);
      return failure === 'EADDRINUSE' ? 'taken' : `error ${failure}`;
    }
    listen(server, 'error', reporting('tcp port'), (error: Error) => this.#options.onProblem(error));
    this.#servers.set(server, port);
    if (this.#isClosed) this.close();
    return {
      port,
      close: () => {
        if (this.#servers.delete(server)) server.close();
        this.#held.delete(port);
      },
    };
  }

  #admit(socket: Socket, client: ArrivedClient, onSocket: OnSocket): void {
    // A reset can occur at any time from here on.
    ignoreErrors(socket);
    noticeVanished(socket);
    const { address } = client;
    if (address === '' || this.#addresses.enter(address) !== null) {
      socket.destroy();
      return;
    }
    listenOnce(socket, 'close', closing(socket, 'tcp port'), () => this.#addresses.leave(address));
    onSocket(socket, client);
  }
}

/** Null, or the code of the error. */
function listening(server: Server, options: ListenOptions & { readonly fd?: number }): Promise<string | null> {
  return new Promise((resolve) => {
    const onError = guarded(reporting('tcp port'), ({ code, message }: NodeJS.ErrnoException) =>
      resolve(code ?? message),
    );
    attach(server, 'error', onError);
    server.listen(options, () => {
      server.off('error', onError);
      resolve(null);
    });
  });
}
