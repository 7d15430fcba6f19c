import type { Writable } from 'node:stream';

const MIB = 1024 * 1024;
/** From here on, each response gets less room. */
const CROWDED_BYTES = 32 * MIB;
/** From here on, senders get the smallest windows. */
const MOST_BYTES = 96 * MIB;
/** A change of this much is reported. */
const STEP_BYTES = 4 * MIB;
/**
 * Room of a response before its sender is paused, usually and while much waits. Less than one part, as it is read from
 * an upstream: 64 KiB without the head, or 16 KiB. With the runtime's 64 KiB a second part always follows.
 */
const USUAL_ROOM_BYTES = 48 * 1024;
const SMALL_ROOM_BYTES = 12 * 1024;
const PAGE_BYTES = 4096;

let waiting = 0;
/** When a change was last reported. */
let reported = 0;
let most = 0;
const listeners = new Set<() => void>();

/**
 * Bytes of responses wait in this thread for readers that are slower than the senders: this many more, or fewer. Each
 * place that keeps some reports them, so that all get less room together: outputs here, windows of sessions at
 * `SessionWindows`. A response that passes as fast as it arrives is not counted.
 */
export function waits(bytes: number): void {
  waiting += bytes;
  if (waiting - reported >= STEP_BYTES) {
    reported = waiting;
    most = Math.max(most, waiting);
    if (waiting >= CROWDED_BYTES) report();
  } else if (reported - waiting >= STEP_BYTES) {
    const wereMany = reported >= CROWDED_BYTES;
    reported = waiting;
    if (wereMany) report();
    if (most - waiting < CROWDED_BYTES) return;
    most = waiting;
    buffersLeft();
  }
}

function report(): void {
  for (const listener of listeners) listener();
}

export function waitingBytes(): number {
  return waiting;
}

/** How much more may wait before windows are the smallest. */
export function roomForBytes(): number {
  return Math.max(0, MOST_BYTES - waiting);
}

/** Whether so much waits that readers who do not read get little. */
export function isCrowded(): boolean {
  return waiting >= CROWDED_BYTES;
}

/** Calls it each time that much more waits, or less, while much does or did. Returns a function that ends this. */
export function onCrowding(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

interface WithRoom {
  readonly _writableState: { highWaterMark: number };
}

/**
 * Before a response is written, with the length of its body or null. A long one gets little room until its reader has
 * taken the first part: thousands may begin before the first of them is counted.
 */
export function beginRoom(output: Writable, bodyBytes: number | null): void {
  if (bodyBytes === null || bodyBytes > USUAL_ROOM_BYTES) changeRoom(output, SMALL_ROOM_BYTES);
}

/** The reader has taken everything so far, or the output begins with another response. */
export function renewRoom(output: Writable): void {
  changeRoom(output, waiting >= CROWDED_BYTES ? SMALL_ROOM_BYTES : USUAL_ROOM_BYTES);
}

/** The runtime has no option for the room of a stream that it makes. */
function changeRoom(output: Writable, bytes: number): void {
  const state = (output as unknown as WithRoom)._writableState;
  if (state.highWaterMark !== bytes) state.highWaterMark = bytes;
}

/**
 * A copy of data that will wait, while much does, so that it keeps nothing else alive: the runtime's parts lie in what
 * was read together, up to 64 KB. The system gets this memory back when it is collected. Parts of this size that malloc
 * frees lie between others, and it keeps them: 150 MB of them after 2,000 readers had left.
 */
export function aside(chunk: Buffer): Buffer {
  // The chunk is such a copy already.
  if (chunk.buffer instanceof ArrayBuffer && chunk.buffer.resizable) return chunk;
  const { length } = chunk;
  // V8 maps only buffers that can be resized, and takes others from malloc.
  const isMapped = length >= PAGE_BYTES;
  const copy = isMapped
    ? Buffer.from(new ArrayBuffer(length, { maxByteLength: length }))
    : Buffer.allocUnsafeSlow(length);
  copy.set(chunk);
  return copy;
}

/**
 * A copy of what was read, for later. Without the runtime's pool for a long one: it may wait, and parts of up to 32 KB
 * share 64 KB there with small buffers, of which each would keep all of that alive.
 */
export function copyOf(chunk: Buffer): Buffer {
  if (waiting >= CROWDED_BYTES) return aside(chunk);
  if (chunk.length < PAGE_BYTES) return Buffer.from(chunk);
  const copy = Buffer.allocUnsafeSlow(chunk.length);
  copy.set(chunk);
  return copy;
}

/** Counts what waits in an output now, instead of `before`, which it returned the last time. */
export function recount({ writableLength }: Writable, before: number): number {
  if (writableLength !== before) waits(writableLength - before);
  return writableLength;
}

/** Pieces that are kept before they become one. */
const MAX_PIECES = 256;

/**
 * Bytes that arrive in pieces of a peer's choice. Small pieces become one now and then: a body of 1 MB in pieces of one
 * byte took 500 MB of memory, as an object for each.
 */
export class GatheredBytes {
  readonly #chunks: Buffer[] = [];
  #pieces: Buffer[] = [];
  #bytes = 0;

  get length(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#pieces.length >= MAX_PIECES) this.#join();
  }

  whole(): Buffer {
    return Buffer.concat(this.chunks());
  }

  /** Everything so far, in order. */
  chunks(): readonly Buffer[] {
    if (this.#pieces.length > 0) this.#join();
    return this.#chunks;
  }

  #join(): void {
    const [first] = this.#pieces;
    this.#chunks.push(this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces));
    this.#pieces = [];
  }
}

/**
 * Buffers of forwarded bytes become garbage within milliseconds, but they lie outside the heap, which hardly grows. V8
 * does not collect its young generation sooner because of them, and after 32 to 64 MB of buffers it collects the whole
 * heap instead. That is twenty full collections per GB, and was half of the CPU time of a large transfer. Code that
 * forwards bytes therefore reports them, and a collection of the young generation, a hundred times cheaper, comes
 * first.
 */
const BYTES_PER_COLLECTION = 24 * 1024 * 1024;
/**
 * For agents: 0.4 to 0.6 times the CPU of a large transfer. A server has more that waits for slow readers, survives
 * frequent collections, and then takes a full one (docs/internals/decisions/0064-streams-of-tunnels.md).
 */
export const BYTES_PER_COLLECTION_OF_AGENTS = 4 * 1024 * 1024;

let passedBytes = 0;
let bytesPerCollection = BYTES_PER_COLLECTION;
let collectYoung: (() => void) | null = null;
/** Frees buffers that have survived collections of the young generation. */
let collectOld: (() => void) | null = null;
/** Readers who leave do so one after the other. */
const COLLECT_AFTER_MS = 5_000;
let leaving: NodeJS.Timeout | null = null;

/** Nothing is collected until this is called: an embedding program decides that itself. */
export function collectPassedBuffers(
  collectors: { readonly young: () => void; readonly old: () => void } | null,
  everyBytes = BYTES_PER_COLLECTION,
): void {
  passedBytes = 0;
  bytesPerCollection = everyBytes;
  collectYoung = collectors?.young ?? null;
  collectOld = collectors?.old ?? null;
}

/**
 * Reports that many megabytes of buffers that have waited for long are no longer needed. Without it they stay for
 * minutes: only a collection of the whole heap frees them, and a process that rests causes none.
 */
function buffersLeft(): void {
  if (collectOld === null || leaving !== null) return;
  leaving = setTimeout(() => {
    leaving = null;
    collectOld?.();
  }, COLLECT_AFTER_MS).unref();
}

/** Reports that a buffer of this many bytes was received and forwarded. */
export function bufferPassed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < bytesPerCollection) return;
  passedBytes = 0;
  collectYoung?.();
}
