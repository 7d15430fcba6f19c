import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Cleanup } from '../cleanup.ts';

/**
 * What a wire does to the connections of one client. `cut`: reset and refused. `black-hole`: silent, nobody notices.
 */
export type WireState = 'open' | 'cut' | 'black-hole';

export interface WireEnd {
  readonly host: string;
  readonly port: number;
}

interface Carried {
  readonly near: Socket;
  readonly far: Socket;
  readonly client: string;
}

/**
 * A TCP proxy in front of one listener. It knows its clients by name, so that each pair of nodes has a wire of its own.
 * `nameOf` finds out who dialled, from the client's port.
 */
export class Wire {
  readonly #server: Server;
  readonly #target: WireEnd;
  readonly #nameOf: (clientPort: number, clientHost: string) => string;
  readonly #carried = new Set<Carried>();
  readonly #sockets = new Set<Socket>();
  readonly #states = new Map<string, WireState>();
  readonly #delaysMs = new Map<string, number>();
  #inFlight = 0;
  #mostInFlight = 0;

  private constructor(target: WireEnd, nameOf: Wire['nameOf']) {
    this.#target = target;
    this.#nameOf = nameOf;
    this.#server = createServer((near) => this.#accept(near));
  }

  get nameOf(): (clientPort: number, clientHost: string) => string {
    return this.#nameOf;
  }

  static async open(test: Cleanup, at: WireEnd, target: WireEnd, nameOf: Wire['nameOf'] = () => ''): Promise<Wire> {
    const wire = new Wire(target, nameOf);
    wire.#server.listen(at);
    await once(wire.#server, 'listening');
    test.after(async () => {
      wire.#server.close();
      for (const socket of wire.#sockets) socket.destroy();
      await once(wire.#server, 'close');
    });
    return wire;
  }

  /** For connections that this client has, and those that it will open. */
  set(client: string, state: WireState): void {
    this.#states.set(client, state);
    for (const carried of this.#of(client)) {
      if (state === 'cut') for (const socket of [carried.near, carried.far]) socket.resetAndDestroy();
      // Nothing is read: buffers fill, and neither end hears of the other, not even of its end.
      else if (state === 'black-hole') for (const socket of [carried.near, carried.far]) silence(socket);
      // Bytes of a connection were lost on the way: like real ones, it is dead, and its ends find out by themselves.
      else if (isSilenced(carried.near)) for (const socket of [carried.near, carried.far]) socket.resetAndDestroy();
    }
  }

  delay(client: string, ms: number): void {
    this.#delaysMs.set(client, ms);
  }

  /** The most bytes that were on their way at once, both ways together, since this was read last. */
  takeMostInFlight(): number {
    const most = this.#mostInFlight;
    this.#mostInFlight = this.#inFlight;
    return most;
  }

  #of(client: string): readonly Carried[] {
    return [...this.#carried].filter((carried) => carried.client === client);
  }

  #accept(near: Socket): void {
    this.#keep(near);
    const client = this.#nameOf(near.remotePort ?? 0, near.remoteAddress ?? '');
    const state = this.#states.get(client) ?? 'open';
    if (state === 'cut') {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ ...this.#target, noDelay: true });
    this.#keep(far);
    near.setNoDelay(true);
    const carried = { near, far, client };
    this.#carried.add(carried);
    near.once('close', () => this.#carried.delete(carried));
    this.#carry(near, far, client);
    this.#carry(far, near, client);
    if (state === 'black-hole') for (const socket of [near, far]) silence(socket);
  }

  #carry(from: Socket, to: Socket, client: string): void {
    from.on('data', (chunk: Buffer) => {
      if (isSilenced(from)) return;
      const delayMs = this.#delaysMs.get(client) ?? 0;
      // Timers of equal length fire in order, so bytes stay in order unless the delay shrinks meanwhile.
      if (delayMs > 0) this.#passLater(from, to, chunk, delayMs);
      else pass(from, to, chunk);
    });
    from.once('close', () => {
      if (!isSilenced(from)) to.destroy();
    });
  }

  #passLater(from: Socket, to: Socket, chunk: Buffer, delayMs: number): void {
    this.#inFlight += chunk.length;
    this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight);
    setTimeout(() => {
      this.#inFlight -= chunk.length;
      pass(from, to, chunk);
    }, delayMs);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
  }
}

const silenced = new WeakSet<Socket>();

function silence(socket: Socket): void {
  silenced.add(socket);
  socket.pause();
}

function isSilenced(socket: Socket): boolean {
  return silenced.has(socket);
}

function pass(from: Socket, to: Socket, chunk: Buffer): void {
  if (to.destroyed || isSilenced(from) || to.write(chunk) || from.isPaused()) return;
  from.pause();
  to.once('drain', () => {
    if (!isSilenced(from)) from.resume();
  });
}
