import type { Transform } from 'node:stream';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  zstdCompressSync,
} from 'node:zlib';
import type { Coding } from './accept-encoding.ts';
import { ReusedDeflate } from './reused-deflate.ts';

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
/** In one call: level 3 takes a third less time than 4 and produces 2 to 6 % more bytes, over 10 KB of JSON, prose and code. */
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
