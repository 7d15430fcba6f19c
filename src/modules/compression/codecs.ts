import { Transform, type TransformCallback } from 'node:stream';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  type Deflate,
  type Gzip,
  type ZlibOptions,
  zstdCompressSync,
} from 'node:zlib';
import { guarded, listen, listenOnce } from '../../kit/guarded-listeners.ts';
import type { Coding } from '../../kit/http/content-coding.ts';
import { SharedPlaces } from '../../kit/net/shared-places.ts';
import { roomForBytes } from '../../kit/net/waiting-bytes.ts';

/** Parts of the runtime's compressor that npm's own `minizlib` relies on too, so that they stay (Node 26.10). */
interface NativeParts {
  _handle: { close(): void } | null;
  /** Compresses on this thread, then closes and forgets the native part. */
  _processChunk(chunk: Buffer, flush: number): Buffer;
  reset(): void;
}

type CreateDeflate = (options: ZlibOptions) => Gzip | Deflate;

/** zlib stores what it cannot compress, with 5 bytes per block, in a frame of 18. */
const SPARE_BYTES = 1_024;

/**
 * Compresses whole bodies with a state that is set up once. The runtime's own calls create a stream and a state of 100
 * to 300 KB for each body, which takes as long as the compression of 10 KB.
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

/**
 * Bodies up to this size are compressed in one call on this thread: at most a quarter of a millisecond, and less than
 * half of the time of a stream for 10 KB, whose setup and trips to the thread pool cost more than the work. Beyond it
 * the pool's other cores are worth the trip.
 */
export const MAX_WHOLE_BYTES = 32 * 1024;

/** A runtime compressor: a stream that can be told to emit what it holds back. */
export interface Compressor extends Transform {
  flush(kind: number): void;
}

export interface Codec {
  /** The whole body at once, on this thread. */
  whole(body: Buffer): Buffer;
  /** A part at a time, on the thread pool. It holds data back until it is flushed. */
  stream(): Compressor;
  /** The flush mode of such a stream. Not the default of `flush()`, which for gzip also discards the history. */
  readonly flushKind: number;
  /** Memory of such a stream, in places of 256 KiB. */
  readonly places: number;
  readonly eventPlaces: number;
  /** Emits every write immediately, and uses little memory: event streams are long-lived and numerous. */
  eventStream(): Compressor;
}

/**
 * Each level is where the next one costs much and gains little: measured over 64 KB of JSON, gzip 6 (its default) takes
 * 0.6 ms, brotli 4 the same for 12 % fewer bytes where 5 takes 1.5 ms for another 4 %, and zstd 3 (its default) 0.25
 * ms.
 *
 * Windows and tables are bounded because a slow client can hold a stream's memory for a long time. Brotli's default is
 * a window of 4 MiB, zstd's one of 2 MiB (RFC 9659 forbids more than 8) with tables for it; with these values, files of
 * 0.4 and 0.6 MB got 1 to 3 % larger. Resident per busy stream: gzip 0.5 MB, brotli 1.6, zstd 1.1. Event streams, whose
 * messages mostly repeat recent ones, get less: gzip and zstd 0.2 MB, brotli 0.4 (at quality 3: 4 has a table of 0.3 MB
 * more).
 */
const deflate = { level: 6, windowBits: 15, memLevel: 8 };
/**
 * In one call: level 3 takes a third less time than 4 and produces 2 to 6 % more bytes, over 10 KB of JSON, prose and
 * code.
 */
const deflateWhole = { level: 3, windowBits: 15, memLevel: 8 };
const deflateEvents = { level: 6, windowBits: 13, memLevel: 6, flush: constants.Z_SYNC_FLUSH };
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 17 } };
const brotliEvents = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 16 },
  flush: constants.BROTLI_OPERATION_FLUSH,
};
const zstd = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 3,
    [constants.ZSTD_c_windowLog]: 18,
    [constants.ZSTD_c_hashLog]: 15,
    [constants.ZSTD_c_chainLog]: 15,
  },
};
/** A body that is compressed in one call fits into this window, and larger tables would only be cleared. */
const zstdWhole = {
  params: {
    ...zstd.params,
    [constants.ZSTD_c_windowLog]: 16,
    [constants.ZSTD_c_hashLog]: 13,
    [constants.ZSTD_c_chainLog]: 13,
  },
};
const zstdEvents = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 3,
    [constants.ZSTD_c_windowLog]: 15,
    [constants.ZSTD_c_hashLog]: 13,
    [constants.ZSTD_c_chainLog]: 13,
  },
  flush: constants.ZSTD_e_flush,
};

/**
 * The runtime allocates a call's output in pieces of this size, 16 KiB by default, and the output keeps its piece
 * alive: enough of those trigger full garbage collections, which cost more than the compression.
 */
const outputPiece = (bytes: number): number => Math.min(Math.max(bytes >> 1, 512), 16 * 1024);

const wholeGzip = new ReusedDeflate(createGzip, deflateWhole, MAX_WHOLE_BYTES);
const wholeDeflate = new ReusedDeflate(createDeflate, deflateWhole, MAX_WHOLE_BYTES);

export const codecs: Readonly<Record<Coding, Codec>> = {
  zstd: {
    whole: (body) =>
      zstdCompressSync(body, { ...zstdWhole, pledgedSrcSize: body.length, chunkSize: outputPiece(body.length) }),
    stream: () => createZstdCompress(zstd),
    flushKind: constants.ZSTD_e_flush,
    places: 6,
    eventPlaces: 1,
    eventStream: () => createZstdCompress(zstdEvents),
  },
  br: {
    whole: (body) => brotliCompressSync(body, { ...brotli, chunkSize: outputPiece(body.length) }),
    stream: () => createBrotliCompress(brotli),
    flushKind: constants.BROTLI_OPERATION_FLUSH,
    places: 6,
    eventPlaces: 2,
    eventStream: () => createBrotliCompress(brotliEvents),
  },
  gzip: {
    whole: (body) => wholeGzip.whole(body),
    stream: () => createGzip(deflate),
    flushKind: constants.Z_SYNC_FLUSH,
    places: 2,
    eventPlaces: 1,
    eventStream: () => createGzip(deflateEvents),
  },
  // RFC 9110 §8.4.1.2: "deflate" means the zlib format, not the raw stream.
  deflate: {
    whole: (body) => wholeDeflate.whole(body),
    stream: () => createDeflate(deflate),
    flushKind: constants.Z_SYNC_FLUSH,
    places: 2,
    eventPlaces: 1,
    eventStream: () => createDeflate(deflateEvents),
  },
};

/** Without a byte for this long the upstream is pausing: the data so far is flushed. */
const PAUSE_MS = 5;
/** No byte is held back longer, even when small pieces keep coming. The cost for a fast download is negligible. */
const MAX_HOLD_MS = 50;

/**
 * Places of 256 KiB, 256 MiB in this thread. A client that does not read its response holds a compressor for as long as
 * it likes: an address gets one while it holds fewer places than are free, and then uncompressed responses.
 */
const compressors = new SharedPlaces(1024);

/** Whether a response for this address may have a compressor. */
export function hasCompressor(clientAddress: string): boolean {
  return roomForBytes() > 0 && compressors.shortage(clientAddress) === null;
}

interface CompressingOptions {
  readonly codec: Codec;
  readonly isEventStream: boolean;
  /** Null when only the end will show. */
  readonly bodyBytes: number | null;
  readonly clientAddress: string;
}

/**
 * A response's body on its way through a compressor. States:
 * - *gathering*: small so far, kept as received. Leaves to *done* at the end (compressed as a whole), to *streaming* at
 *   a pause or beyond MAX_WHOLE_BYTES. Skipped by event streams and by bodies known to be larger.
 * - *streaming*: each part goes to a runtime compressor, which is flushed when the upstream pauses; for event streams
 *   it flushes every write by itself.
 * - *done*: ended, or destroyed because the client or the upstream disconnected; compressor and timer are released.
 *
 * Back-pressure: a write completes when all of its compressed output is in our buffer and, through Transform, when the
 * buffer has room. So a slow reader causes at most the buffer plus the output of one more chunk to wait.
 */
export class CompressingStream extends Transform {
  readonly #codec: Codec;
  readonly #isEventStream: boolean;
  #gathered: Buffer[] | null = [];
  #gatheredBytes = 0;
  #compressor: Compressor | null = null;
  #pauseTimer: NodeJS.Timeout | null = null;
  /** When the oldest byte arrived that may not have been emitted; 0 when all have. */
  #holdsSince = 0;
  readonly #places: number[] = [];

  constructor({ codec, isEventStream, bodyBytes, clientAddress }: CompressingOptions) {
    super();
    // Not with the compressor: many responses may begin before the first one needs it.
    for (let left = isEventStream ? codec.eventPlaces : codec.places; left > 0; left -= 1)
      this.#places.push(compressors.enter(clientAddress));
    this.#codec = codec;
    this.#isEventStream = isEventStream;
    if (isEventStream || (bodyBytes !== null && bodyBytes > MAX_WHOLE_BYTES)) this.#gathered = null;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    if (this.#gathered !== null && this.#gatheredBytes + chunk.length <= MAX_WHOLE_BYTES) {
      this.#gathered.push(chunk);
      this.#gatheredBytes += chunk.length;
      this.#flushSoon();
      callback();
      return;
    }
    this.#streaming().write(chunk, (error) => {
      // Also called, without an error, when a write was in progress as the stream was destroyed.
      if (this.destroyed) return;
      if (!error && !this.#isEventStream) this.#flushSoon();
      callback(error);
    });
  }

  override _flush(callback: TransformCallback): void {
    this.#stopTimer();
    if (this.#compressor === null) {
      try {
        callback(null, this.#codec.whole(Buffer.concat(this.#gathered ?? [])));
      } catch (error) {
        callback(error as Error);
      }
      return;
    }
    listenOnce(this.#compressor, 'end', this, () => callback());
    this.#compressor.end();
  }

  /** The reader gets the failure as 'error'. */
  contain(error: unknown): void {
    this.destroy(error instanceof Error ? error : new Error(String(error)));
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#stopTimer();
    this.#compressor?.destroy();
    this.#gathered = null;
    for (const place of this.#places.splice(0)) compressors.leave(place);
    callback(error);
  }

  #streaming(): Compressor {
    if (this.#compressor !== null) return this.#compressor;
    const compressor = this.#isEventStream ? this.#codec.eventStream() : this.#codec.stream();
    listen(compressor, 'data', this, (chunk: Buffer) => void this.push(chunk));
    listen(compressor, 'error', this, (error: Error) => void this.destroy(error));
    for (const chunk of this.#gathered ?? []) compressor.write(chunk);
    this.#gathered = null;
    this.#compressor = compressor;
    return compressor;
  }

  #flushSoon(): void {
    const now = performance.now();
    if (this.#holdsSince === 0) this.#holdsSince = now;
    else if (now - this.#holdsSince >= MAX_HOLD_MS) {
      this.#flushNow();
      return;
    }
    if (this.#pauseTimer === null)
      this.#pauseTimer = setTimeout(
        guarded(this, () => this.#flushNow()),
        PAUSE_MS,
      );
    else this.#pauseTimer.refresh();
  }

  #flushNow(): void {
    // The end emits everything anyway.
    if (this.writableEnded || this.#holdsSince === 0) return;
    this.#holdsSince = 0;
    this.#streaming().flush(this.#codec.flushKind);
  }

  #stopTimer(): void {
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    this.#pauseTimer = null;
  }
}
