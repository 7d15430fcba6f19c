import type { Socket } from 'node:net';
import { attach, closing, guarded, ignoreErrors, listenOnce } from '../guarded-listeners.ts';
import { type AddressMatcher, cidrMatcher, parseAddress } from './cidr.ts';
import { type HeaderProblem, type ProxiedSource, readProxyHeader } from './proxy-header.ts';
import { WaitingStrangers } from './shared-places.ts';

/** `timeout`: silent or slow. `closed`: the proxy disconnected first, as some health checks do. */
type ReceivingProblem = HeaderProblem | 'timeout' | 'closed';

type ReceivedHeader =
  | { readonly ok: true; readonly source: ProxiedSource | null; readonly headerBytes: number }
  | { readonly ok: false; readonly problem: ReceivingProblem; readonly message: string };

/**
 * Takes the header from a socket, and leaves what follows it to be read. The deadline covers the whole header: a byte
 * now and then does not extend it. Calls `done` once, and leaves an open socket open.
 */
function receiveHeader(socket: Socket, timeoutMs: number, done: (received: ReceivedHeader) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  const owner = closing(socket, 'PROXY header');
  const fail = (problem: ReceivingProblem, message: string) => finish({ ok: false, problem, message });
  const onTimeout = guarded(owner, () => fail('timeout', 'the PROXY header did not come in time'));
  const onClosed = guarded(owner, () => fail('closed', 'the connection ended before its PROXY header'));
  const onReadable = guarded(owner, () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      // Short: anything beyond 536 bytes has been decided.
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      const reading = readProxyHeader(bytes);
      if (reading.state === 'more') continue;
      if (reading.state === 'refused') return fail(reading.problem, reading.message);
      if (bytes.length > reading.length) socket.unshift(bytes.subarray(reading.length));
      return finish({ ok: true, source: reading.source, headerBytes: reading.length });
    }
  });
  const timer = setTimeout(onTimeout, timeoutMs);
  const finish = (received: ReceivedHeader) => {
    clearTimeout(timer);
    socket.off('readable', onReadable);
    socket.off('end', onClosed);
    socket.off('close', onClosed);
    done(received);
  };
  attach(socket, 'readable', onReadable);
  attach(socket, 'end', onClosed);
  attach(socket, 'close', onClosed);
}

/** The client of a connection: the connected peer, or whom its PROXY header names. */
export interface ArrivedClient {
  /** IPv4 addresses are written as IPv4, even on an IPv6 listener. Empty: the connection is already closed. */
  readonly address: string;
  readonly port: number;
  /** How long its header took; this counts towards the deadline of what follows. */
  readonly waitedMs: number;
  /** Length of that header, which is not the client's traffic. */
  readonly headerBytes: number;
}

/** `limit`: too many connections wait for their header. `draining`: the server is shutting down. */
export type ArrivalProblem = ReceivingProblem | 'limit' | 'draining';

export interface ArrivalRefusal {
  /** Address of the proxy. */
  readonly proxy: string;
  readonly problem: ArrivalProblem;
  readonly message: string;
}

interface ArrivingClientsOptions {
  /** CIDR ranges of proxies: connections from them must start with a PROXY header, those of others cannot. */
  readonly proxies: readonly string[];
  readonly timeoutMs: number;
  /** Connections that may wait for their header at a time. */
  readonly maxWaiting: number;
  readonly onRefused: (refusal: ArrivalRefusal) => void;
  /** False: the process has too few file descriptors for one more connection. Absent: it is never asked. */
  readonly hasRoom?: () => boolean;
}

/**
 * Finds out who the client of an accepted connection is. A header from an address outside the list is left where it is,
 * and is bad input for the protocol that the listener speaks: a client cannot choose its address.
 */
export class ArrivingClients {
  readonly #options: ArrivingClientsOptions;
  readonly #proxies: readonly AddressMatcher[];
  readonly #waiting = new Set<Socket>();
  #isClosed = false;

  constructor(options: ArrivingClientsOptions) {
    this.#options = options;
    this.#proxies = options.proxies.map(cidrMatcher);
  }

  /** Connections that wait for their header. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Calls `accept` immediately, or once the proxy's header is read; a connection without a valid one is closed. */
  admit(socket: Socket, accept: (client: ArrivedClient) => void): void {
    if (this.#options.hasRoom?.() === false) {
      // Closed at once, not left in the queue: its client can try another node.
      ignoreErrors(socket).destroy();
      return;
    }
    const peer = peerOf(socket);
    if (!this.#isProxy(peer.address)) {
      accept(peer);
      return;
    }
    // A reset can occur at any time from here on.
    ignoreErrors(socket);
    if (this.#isClosed) this.#refuse(socket, peer, 'draining', 'the server is shutting down');
    else if (this.#waiting.size >= this.#options.maxWaiting)
      this.#refuse(socket, peer, 'limit', 'too many connections wait for their PROXY header');
    else this.#receive(socket, peer, accept);
  }

  /** Closes connections that still wait. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#waiting) socket.destroy();
  }

  #receive(socket: Socket, peer: ArrivedClient, accept: (client: ArrivedClient) => void): void {
    const startedAt = performance.now();
    this.#waiting.add(socket);
    receiveHeader(socket, this.#options.timeoutMs, (received) => {
      this.#waiting.delete(socket);
      if (received.ok) {
        const { source, headerBytes } = received;
        accept({ ...peer, ...source, waitedMs: performance.now() - startedAt, headerBytes });
      } else this.#refuse(socket, peer, this.#isClosed ? 'draining' : received.problem, received.message);
    });
  }

  #refuse(socket: Socket, { address }: ArrivedClient, problem: ArrivalProblem, message: string): void {
    socket.destroy();
    this.#options.onRefused({ proxy: address, problem, message });
  }

  #isProxy(address: string): boolean {
    if (this.#proxies.length === 0) return false;
    const parsed = parseAddress(address);
    return parsed !== null && this.#proxies.some((matches) => matches(parsed));
  }
}

/** The connected peer, which is the client unless it is a proxy. */
export function peerOf({ remoteAddress, remotePort }: Socket): ArrivedClient {
  const address = remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
  return { address, port: remotePort ?? 0, waitedMs: 0, headerBytes: 0 };
}

/** Connections with a TLS handshake in progress. When there are too many, one is dropped. */
export class Handshakes {
  readonly #waiting: WaitingStrangers<string>;
  /** Keyed by remote address and port: a TLS socket does not reveal its underlying socket. */
  readonly #sockets = new Map<string, { readonly socket: Socket; readonly address: string }>();

  constructor(max: number) {
    this.#waiting = new WaitingStrangers(max);
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** `address`: the client's, if a proxy connected for it. */
  began(socket: Socket, address: string = peerOf(socket).address): void {
    const name = nameOf(socket);
    // An earlier connection may have ended without being seen.
    this.#forget(name);
    const dropped = this.#waiting.add(name, address);
    if (dropped !== null) {
      this.#sockets.get(dropped)?.socket.destroy();
      this.#sockets.delete(dropped);
    }
    this.#sockets.set(name, { socket, address });
    listenOnce(socket, 'close', closing(socket, 'tunnel listener'), () => {
      if (this.#sockets.get(name)?.socket === socket) this.#forget(name);
    });
  }

  /** Returns the client's address; null: the connection was dropped. */
  ended(socket: Socket): string | null {
    const name = nameOf(socket);
    const address = this.#sockets.get(name)?.address ?? null;
    this.#forget(name);
    return address;
  }

  #forget(name: string): void {
    this.#sockets.delete(name);
    this.#waiting.delete(name);
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
