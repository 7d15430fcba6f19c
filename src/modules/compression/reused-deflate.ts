import { constants, type Deflate, type Gzip, type ZlibOptions } from 'node:zlib';

/** Parts of the runtime's compressor that npm's own `minizlib` relies on too, so that they stay (Node 26.10). */
interface NativeParts {
  _handle: { close(): void } | null;
  /** Compresses on this thread, then closes and forgets the native part. */
  _processChunk(chunk: Buffer, flush: number): Buffer;
  reset(): void;
}

export type CreateDeflate = (options: ZlibOptions) => Gzip | Deflate;

/** zlib stores what it cannot compress, with 5 bytes per block, in a frame of 18. */
const SPARE_BYTES = 1_024;

/**
 * Compresses whole bodies with a state that is set up once. The runtime's own calls create a stream and a state of 100 to 300 KB
 * for each body, which takes as long as the compression of 10 KB.
 */
export class ReusedDeflate {
  readonly #create: CreateDeflate;
  readonly #options: ZlibOptions;
  #compressor: ((Gzip | Deflate) & NativeParts) | null = null;

  /** `maxBytes`: of a body. */
  constructor(create: CreateDeflate, options: ZlibOptions, maxBytes: number) {
    this.#create = create;
    // All output fits into one buffer, which is used again.
    this.#options = { ...options, chunkSize: maxBytes + SPARE_BYTES };
  }

  whole(body: Buffer): Buffer {
    // The native part would abort the process.
    if (!Buffer.isBuffer(body)) throw new TypeError('a body is not a buffer');
    const compressor = this.#compressor ?? (this.#create(this.#options) as (Gzip | Deflate) & NativeParts);
    // Only a state that has done its work is used again.
    this.#compressor = null;
    const native = compressor._handle;
    if (native === null) throw new Error('the runtime has closed a compressor that is in use');
    native.close = keepOpen;
    const output = compressor._processChunk(body, constants.Z_FINISH);
    const result = Buffer.allocUnsafe(output.length);
    output.copy(result);
    compressor._handle = native;
    compressor.removeAllListeners('error');
    compressor.reset();
    this.#compressor = compressor;
    return result;
  }
}

function keepOpen(): void {}
