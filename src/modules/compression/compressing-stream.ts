import { Transform, type TransformCallback } from 'node:stream';
import { guarded, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import { SharedPlaces } from '../../lib/net/shared-places.ts';
import { roomForBytes } from '../../lib/net/waiting-bytes.ts';
import { type Codec, type Compressor, MAX_WHOLE_BYTES } from './codecs.ts';

/** Without a byte for this long the upstream is pausing: the data so far is flushed. */
const PAUSE_MS = 5;
/** No byte is held back longer, even when small pieces keep coming. The cost for a fast download is negligible. */
const MAX_HOLD_MS = 50;

/**
 * Places of 256 KiB, 256 MiB in this thread. A client that does not read its response holds a compressor for as long as it likes: an
 * address gets one while it holds fewer places than are free, and then uncompressed responses.
 */
const compressors = new SharedPlaces(1024);

/** Whether a response for this address may have a compressor. */
export function hasCompressor(clientAddress: string): boolean {
  return roomForBytes() > 0 && compressors.shortage(clientAddress) === null;
}

export interface CompressingOptions {
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

  /** Its reader gets the failure as 'error'. */
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
