import { Readable } from 'node:stream';

const block = Buffer.alloc(65_536, 'postern');

/** This many bytes, as fast as they are read. */
export function blocks(total: number): Readable {
  let left = total;
  return new Readable({
    highWaterMark: 1 << 20,
    read() {
      const size = Math.min(left, block.length);
      left -= size;
      this.push(size === 0 ? null : block.subarray(0, size));
    },
  });
}
