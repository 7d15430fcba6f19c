import type { TLSSocket } from 'node:tls';
import type { EdgeWorld } from '../../../support/edge-world.ts';
import { ACK, frame, GOAWAY, HEADERS, NOTHING, PREFACE, RST_STREAM, SETTINGS } from './frames.ts';

export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** An HTTP/2 connection that can send anything and records all received frames. */
export class RawHttp2 {
  readonly socket: TLSSocket;
  readonly frames: ReceivedFrame[] = [];
  isClosed = false;
  readonly closed: Promise<void>;
  #rest: Buffer = NOTHING;
  #waiting: (() => void)[] = [];

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.isClosed = true;
        this.#wake();
        resolve();
      });
    });
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  /** Connected from this address, settings exchanged. */
  static async open(
    world: EdgeWorld,
    host: string,
    settings: Buffer = NOTHING,
    localAddress = '127.0.0.1',
  ): Promise<RawHttp2> {
    const client = new RawHttp2(await world.connect(host, { ALPNProtocols: ['h2'], localAddress } as object));
    client.send(PREFACE, frame(SETTINGS, 0, 0, settings));
    await client.until(() => client.of(SETTINGS).some(({ flags }) => flags === ACK));
    client.send(frame(SETTINGS, ACK, 0));
    return client;
  }

  /** False when nothing more can be sent. */
  send(...frames: readonly Buffer[]): boolean {
    if (!this.socket.writable) return false;
    this.socket.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames));
    return true;
  }

  /** Sends the result of `make` for 0, 1, 2 … as fast as the peer accepts it; returns how many were sent. */
  async flood(count: number, make: (index: number) => Buffer): Promise<number> {
    for (let index = 0; index < count; index += 1) {
      if (!this.socket.writable) return index;
      if (!this.socket.write(make(index))) await this.#roomOrClosed();
    }
    return count;
  }

  of(type: number): ReceivedFrame[] {
    return this.frames.filter((one) => one.type === type);
  }

  /** The code of a received GOAWAY, or null. */
  get goawayCode(): number | null {
    return this.of(GOAWAY).at(-1)?.payload.readUInt32BE(4) ?? null;
  }

  isAnswered(stream: number): boolean {
    return this.frames.some((one) => one.stream === stream && (one.type === HEADERS || one.type === RST_STREAM));
  }

  /** Until it holds or the connection ends; throws after a minute. */
  async until(isSo: () => boolean): Promise<void> {
    const deadline = performance.now() + 60_000;
    while (!isSo() && !this.isClosed) {
      if (performance.now() > deadline) throw new Error('the condition did not hold within a minute');
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  destroy(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const end = 9 + bytes.readUIntBE(0, 3);
      this.frames.push({
        type: bytes[3] as number,
        flags: bytes[4] as number,
        stream: bytes.readUInt32BE(5),
        payload: Buffer.from(bytes.subarray(9, end)),
      });
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #roomOrClosed(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.socket.off('drain', done).off('close', done);
        resolve();
      };
      this.socket.on('drain', done).on('close', done);
    });
  }
}
