import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cleanup } from '../../support/cleanup.ts';

/** Towards the server, towards the agent, or both ways. */
export type Direction = 'up' | 'down' | 'both';

interface Flow {
  readonly direction: 'up' | 'down';
  readonly from: Socket;
  readonly to: Socket;
  /** Bytes are dropped, and neither end notices when the other one closes. */
  isDropped: boolean;
  isStalled: boolean;
  corruptNext: boolean;
}

/** One connection through the proxy. */
export class ProxiedConnection {
  readonly #flows: readonly [Flow, Flow];
  readonly #proxy: FaultyProxy;
  isOpen = true;
  /** Bytes that arrived from either end. */
  carried = 0;

  constructor(near: Socket, far: Socket, proxy: FaultyProxy) {
    this.#proxy = proxy;
    const flow = (direction: 'up' | 'down', from: Socket, to: Socket): Flow => {
      return { direction, from, to, isDropped: false, isStalled: false, corruptNext: false };
    };
    this.#flows = [flow('up', near, far), flow('down', far, near)];
    for (const each of this.#flows) {
      each.from.on('data', (chunk: Buffer) => void this.#carry(each, chunk));
      each.from.on('error', () => {}).once('close', () => this.#closed(each));
    }
  }

  /** A black hole: nothing passes and neither end is notified, neither of bytes nor of closing. */
  drop(direction: Direction = 'both'): void {
    for (const flow of this.#of(direction)) flow.isDropped = true;
  }

  /** Bytes are held back, and the sender's window fills. */
  stall(direction: Direction = 'both'): void {
    for (const flow of this.#of(direction)) {
      flow.isStalled = true;
      flow.from.pause();
    }
  }

  resume(): void {
    for (const flow of this.#flows) {
      flow.isStalled = false;
      flow.from.resume();
    }
  }

  /** The next bytes are corrupted in transit. */
  corrupt(direction: Direction): void {
    for (const flow of this.#of(direction)) flow.corruptNext = true;
  }

  /** Like a router that restarts: both ends are notified. */
  cut(): void {
    for (const { from } of this.#flows) from.resetAndDestroy();
  }

  /** The agent's side is gone; the server is not notified. */
  halfOpen(): void {
    this.drop();
    this.#flows[0].from.destroy();
  }

  destroy(): void {
    for (const { from } of this.#flows) from.destroy();
  }

  #of(direction: Direction): readonly Flow[] {
    return this.#flows.filter((flow) => direction === 'both' || flow.direction === direction);
  }

  async #carry(flow: Flow, chunk: Buffer): Promise<void> {
    this.carried += chunk.length;
    if (flow.isDropped) return;
    const { delayMs } = this.#proxy;
    const bytes = flow.corruptNext ? Buffer.from(chunk) : chunk;
    if (flow.corruptNext) {
      flow.corruptNext = false;
      const at = bytes.length - 1;
      bytes[at] = (bytes[at] as number) ^ 0xff;
    }
    if (delayMs > 0) await sleep(delayMs);
    if (flow.isDropped || flow.to.destroyed) return;
    if (!flow.to.write(bytes)) {
      flow.from.pause();
      flow.to.once('drain', () => {
        if (!flow.isStalled) flow.from.resume();
      });
    }
  }

  #closed(flow: Flow): void {
    this.isOpen = false;
    if (!flow.isDropped) flow.to.destroy();
  }
}

/** A wire between agent and server that fails like real wires do. */
export class FaultyProxy {
  readonly connections: ProxiedConnection[] = [];
  delayMs = 0;
  /** Connections are refused. */
  isDown = false;
  /** Connections are accepted, but carry nothing. */
  isSilent = false;
  readonly dialledAtMs: number[] = [];
  #server: Server;
  readonly #sockets = new Set<Socket>();
  targetPort: number;

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
    this.#server = createServer((near) => this.#accept(near));
  }

  static async open(
    test: Cleanup,
    targetPort: number,
    at: { readonly host: string; readonly port: number } = { host: '127.0.0.1', port: 0 },
  ): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(targetPort);
    proxy.#server.listen(at);
    await once(proxy.#server, 'listening');
    test.after(async () => {
      proxy.#server.close();
      for (const socket of proxy.#sockets) socket.destroy();
      await once(proxy.#server, 'close');
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get addr(): string {
    return `127.0.0.1:${this.port}`;
  }

  get accepted(): number {
    return this.dialledAtMs.length;
  }

  get open(): readonly ProxiedConnection[] {
    return this.connections.filter(({ isOpen }) => isOpen);
  }

  #accept(near: Socket): void {
    this.dialledAtMs.push(Date.now());
    this.#keep(near);
    if (this.isSilent) return;
    if (this.isDown) {
      near.destroy();
      return;
    }
    const far = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    this.#keep(far);
    near.setNoDelay(true);
    this.connections.push(new ProxiedConnection(near, far, this));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
  }
}
