import type { OnReadOpts } from 'node:net';
import type { ListenerOwner } from '../lib/guarded-listeners.ts';

export interface ByteTarget extends ListenerOwner {
  /** `bytes` is overwritten by the next read, of any connection: what is kept must be copied. */
  onBytes(bytes: Buffer): void;
}

const READ_BYTES = 65_536;
/**
 * All plain connections read into one buffer: the system fills it and `onBytes` empties it within one turn of the event loop,
 * and nothing that is done in between (writing, connecting) reads from a plain socket. Without it each read allocates 64 KiB
 * and gives most of it back, about 1 µs and a lot of garbage collection per answer. On Windows reads are posted ahead of time,
 * and TLS may read while it writes: neither may share.
 */
const shared = process.platform === 'win32' ? null : Buffer.allocUnsafeSlow(READ_BYTES);

/** The end of a plain socket that bytes come out of, without going through its stream. */
export class Inlet {
  target: ByteTarget | null = null;
  readonly onread: OnReadOpts;

  constructor() {
    const buffer = shared ?? Buffer.allocUnsafeSlow(READ_BYTES);
    this.onread = {
      buffer,
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
