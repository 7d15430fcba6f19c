import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { closing, guarded, ignoreErrors, listenOnce } from '../../../kit/guarded-listeners.ts';
import type { ArrivedClient } from '../../../kit/net/arriving-clients.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import { AddressCounter, type EdgeTallies } from '../admission.ts';
import type { HandshakeFailure } from './handshake-failure.ts';
import type { TlsLimits, TlsLog, TlsMetrics } from './tls-ports.ts';

/** peeking → choosing (the certificate) → shaking hands → over, by success or failure; each state can fail. */
export interface Handshake {
  readonly socket: Socket;
  readonly client: ArrivedClient;
  serverName: string | null;
  edge: EdgeSnapshot | null;
  /** Nothing serves the name: only a page that says so may follow. */
  isVacant: boolean;
  timer: NodeJS.Timeout | null;
  isOver: boolean;
}

/**
 * Admits connections, tracks handshakes and their outcome: each handshake is counted once, whatever else its end
 * triggers.
 */
export class PendingHandshakes {
  readonly #connections: AddressCounter;
  readonly #pending: AddressCounter;
  readonly #handshakes = new Map<Socket, Handshake>();
  readonly #log: TlsLog;
  readonly #metrics: TlsMetrics;
  #isClosed = false;
  #onIdle: () => void = () => {};

  /** `free`: connections for which there are file descriptors. */
  constructor(
    limits: TlsLimits,
    log: TlsLog,
    metrics: TlsMetrics,
    threads: Partial<EdgeTallies> = {},
    free?: () => number,
  ) {
    this.#connections = new AddressCounter(
      { maxTotal: limits.maxConnections, maxPerAddress: limits.maxConnectionsPerAddress },
      threads.connections,
      free,
    );
    this.#pending = new AddressCounter(
      { maxTotal: limits.maxPending, maxPerAddress: limits.maxPendingPerAddress },
      threads.handshakes,
    );
    this.#log = log;
    this.#metrics = metrics;
  }

  /** Open connections, until they are closed. */
  get connectionCount(): number {
    return this.#connections.total;
  }

  get pendingCount(): number {
    return this.#pending.total;
  }

  /** Null when the connection was rejected and closed. */
  start(socket: Socket, client: ArrivedClient): Handshake | null {
    // A reset can occur at any time from here on; the 'close' that follows reports it.
    ignoreErrors(socket);
    const { address } = client;
    const refusal = address === '' ? 'closed' : this.#admit(address);
    if (refusal !== null) {
      this.#metrics.handshakeFailed(refusal);
      this.#log.debug({ address, reason: refusal }, 'connection refused');
      socket.destroy();
      return null;
    }
    const handshake: Handshake = {
      socket,
      client,
      serverName: null,
      edge: null,
      isVacant: false,
      timer: null,
      isOver: false,
    };
    this.#handshakes.set(socket, handshake);
    const owner = closing(socket, 'TLS handshake');
    listenOnce(socket, 'close', owner, () => {
      this.#connections.leave(address);
      // The TLS socket on top closes right after this one, and its error carries the reason.
      setImmediate(guarded(owner, () => this.fail(handshake, 'closed', 'the connection was closed')));
    });
    return handshake;
  }

  /**
   * The runtime passes the socket that it created, not the one it was given. There is no documented link between the
   * two; if this one disappears, no connection is accepted.
   */
  of(socket: TLSSocket): Handshake | undefined {
    const { _parent: accepted } = socket as TLSSocket & { readonly _parent?: Socket };
    return accepted === undefined ? undefined : this.#handshakes.get(accepted);
  }

  succeed(handshake: Handshake): void {
    this.#finish(handshake);
  }

  fail(handshake: Handshake, reason: HandshakeFailure, message: string): void {
    if (!this.#finish(handshake)) return;
    this.#metrics.handshakeFailed(reason);
    const { client, serverName } = handshake;
    this.#log.debug({ address: client.address, server_name: serverName, reason, why: message }, 'TLS handshake failed');
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    this.#end((handshake) => handshake.serverName === null);
    if (this.#handshakes.size === 0) return;
    const timer = setTimeout(() => this.close(), timeoutMs);
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    clearTimeout(timer);
  }

  close(): void {
    this.#isClosed = true;
    this.#end(() => true);
  }

  #end(isMeant: (handshake: Handshake) => boolean): void {
    for (const handshake of [...this.#handshakes.values()].filter(isMeant)) {
      this.fail(handshake, 'draining', 'the server is shutting down');
      handshake.socket.destroy();
    }
  }

  #admit(address: string): HandshakeFailure | null {
    if (this.#isClosed) return 'draining';
    const tooMany = this.#connections.enter(address);
    if (tooMany !== null) return `${tooMany}_limit`;
    const tooManyPending = this.#pending.enter(address);
    if (tooManyPending === null) return null;
    this.#connections.leave(address);
    return `pending_${tooManyPending}_limit`;
  }

  #finish(handshake: Handshake): boolean {
    if (handshake.isOver) return false;
    handshake.isOver = true;
    if (handshake.timer !== null) clearTimeout(handshake.timer);
    this.#handshakes.delete(handshake.socket);
    this.#pending.leave(handshake.client.address);
    if (this.#handshakes.size === 0) this.#onIdle();
    return true;
  }
}
