/**
 * Buffers of forwarded bytes become garbage within milliseconds, but they lie outside the heap, which hardly grows. V8
 * does not collect its young generation sooner because of them. It counts them against the limit of its old generation,
 * and collects the whole heap instead: after 64 MB in a large heap, and after 10 MB in a small one that was idle before,
 * which is a hundred full collections per GB and three quarters of the CPU time of a large transfer. Code that
 * forwards bytes therefore reports them, and a collection of the young generation, a hundred times cheaper, comes
 * first. Report data when it is passed on, not while it waits: what survives two such collections is freed only by a full one.
 */
const BYTES_PER_COLLECTION = 8 * 1024 * 1024;

let passedBytes = 0;
let collectYoung: (() => void) | null = null;

/** Nothing is collected until this is called: an embedding program decides that itself. */
export function collectPassedBuffers(collector: (() => void) | null): void {
  passedBytes = 0;
  collectYoung = collector;
}

/** Reports that a buffer of this many bytes was received and forwarded. */
export function bufferPassed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < BYTES_PER_COLLECTION) return;
  passedBytes = 0;
  collectYoung?.();
}
