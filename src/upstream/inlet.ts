import type { OnReadOpts } from 'node:net';
import type { ListenerOwner } from '../lib/guarded-listeners.ts';
import { isCrowded } from '../lib/net/waiting-bytes.ts';

export interface ByteTarget extends ListenerOwner {
  /** `bytes` is overwritten by the next read of any connection: copy what must be kept. */
  onBytes(bytes: Buffer): void;
}

const READ_BYTES = 65_536;
/**
 * All plain connections read into one buffer: the system fills it and `onBytes` empties it within one turn of the event
 * loop, and nothing in between (writing, connecting) reads from a plain socket. Without it each read allocates 64 KiB
 * and frees most of it: about 1 µs and much garbage collection per response. On Windows reads are posted ahead of time,
 * and TLS may read while it writes: neither may share the buffer.
 */
const shared = process.platform === 'win32' ? null : Buffer.allocUnsafeSlow(READ_BYTES);

/** While much waits for slow readers, a single read must not add more than this. */
const PART_BYTES = 16_384;
const sharedPart = (shared ?? Buffer.alloc(0)).subarray(0, PART_BYTES);

/** Delivers a plain socket's bytes without going through its stream. */
export class Inlet {
  target: ByteTarget | null = null;
  /** The first read of a connection is small: thousands of connections may begin before what they read is counted. */
  #hasRead = false;
  readonly onread: OnReadOpts;

  constructor() {
    const buffer = shared ?? Buffer.allocUnsafeSlow(READ_BYTES);
    const part = shared === null ? buffer.subarray(0, PART_BYTES) : sharedPart;
    this.onread = {
      buffer: () => {
        const isFirst = !this.#hasRead;
        this.#hasRead = true;
        return isFirst || isCrowded() ? part : buffer;
      },
      callback: (count) => {
        const { target } = this;
        try {
          target?.onBytes(buffer.subarray(0, count));
        } catch (error) {
          target?.contain(error);
        }
        return true;
      },
    };
  }
}
