import type { Writable } from 'node:stream';
import { buffersLeft } from './passing-buffers.ts';

const MIB = 1024 * 1024;
/** From here on, each response gets less room. */
const CROWDED_BYTES = 32 * MIB;
/** From here on, senders get the smallest windows. */
const MOST_BYTES = 96 * MIB;
/** A change of this much is reported. */
const STEP_BYTES = 4 * MIB;
/**
 * Room of a response before its sender is paused, usually and while much waits. Less than one part, as it is read from an upstream:
 * 64 KiB without the head, or 16 KiB. With the runtime's 64 KiB a second part always follows.
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
 * Before a response is written, with the length of its body or null. A long one gets little room until its reader has taken the first
 * part: thousands may begin before the first of them is counted.
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
 * A copy of data that will wait, while much does, so that it keeps nothing else alive: the runtime's parts lie in what was read
 * together, up to 64 KB. The system gets this memory back when it is collected. Parts of this size that malloc frees
 * lie between others, and it keeps them: 150 MB of them after 2,000 readers had left.
 */
export function aside(chunk: Buffer): Buffer {
  // It is such a copy already.
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
 * A copy of what was read, for later. Without the runtime's pool for a long one: it may wait, and parts of up to 32 KB share 64 KB there with
 * small buffers, of which each would keep all of that alive.
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
